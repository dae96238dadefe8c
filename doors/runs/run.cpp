#include "doors/runs/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/limits.h"
#include "doors/tfevents.h"

namespace fs = std::filesystem;

namespace ltr::doors {

namespace {

/// A number as the journal has it: what JSON cannot say is a text.
double number_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return INFINITY;
  if (value == "-Infinity") return -INFINITY;
  return std::nan("");
}

using Recorded = std::map<std::string, std::map<int64_t, Point>>;

/// What a process that goes on behind `step` records anew.
void forget_behind(int64_t step, Recorded& recorded) {
  for (auto& [name, points] : recorded) points.erase(points.upper_bound(step), points.end());
}

void take_line(const nlohmann::json& line, Recorded& recorded, Run& run) {
  const std::string kind = line.value("kind", "");
  const int64_t step = line.value("step", int64_t(0));
  const double time = line.value("time", 0.0);
  if (kind == "metrics" && line.contains("values")) {
    for (const auto& [name, value] : line["values"].items())
      recorded[name][step] = {step, line.value("epoch", int64_t(0)), time, number_of(value)};
  } else if (kind == "event") {
    RunEvent event{line.value("event", ""), step, time, ""};
    if (event.name == "start") forget_behind(step, recorded);
    nlohmann::json rest = line;
    for (const char* known : {"kind", "event", "step", "time"}) rest.erase(known);
    if (!rest.empty()) event.text = rest.dump();
    run.events.push_back(std::move(event));
  }
}

void read_journal(const std::string& path, Run& run) {
  const std::string text = read_plain_file(path, limits::kFileBytes);
  Recorded recorded;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // Torn, or not written to its end yet.
    const nlohmann::json line = try_json(std::string_view(text).substr(begin, end - begin));
    if (!line.is_object()) throw FormatError(path, begin, "a line that is no JSON object");
    try {
      take_line(line, recorded, run);
    } catch (const nlohmann::json::exception&) {
      throw FormatError(path, begin, "a line whose values have other types");
    }
    begin = end + 1;
  }
  for (auto& [name, points] : recorded) {
    Series series{name, {}};
    for (const auto& [step, point] : points) series.points.push_back(point);
    if (!series.points.empty()) run.series.push_back(std::move(series));
  }
}

void read_pictures(const std::string& folder, Run& run) {
  std::vector<std::string> files;  // Their names begin with the time of their start.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  std::map<std::string, std::map<int64_t, std::string>> found;
  for (const std::string& file : files) {
    for (LoggedImage& image : read_images(file)) {
      auto& of_name = found[image.tag];
      of_name[image.step] = std::move(image.png);
      if (of_name.size() > kMostPictures) of_name.erase(of_name.begin());
    }
  }
  for (auto& [name, of_name] : found) {
    for (auto& [step, png] : of_name) run.pictures.push_back({name, step, std::move(png)});
  }
}

}  // namespace

const Series* Run::find(const std::string& name) const {
  const auto found = std::ranges::find(series, name, &Series::name);
  return found == series.end() ? nullptr : &*found;
}

Run read_run(const std::string& folder, bool with_pictures) {
  Run run;
  std::error_code ignored;
  const fs::path real = fs::canonical(folder, ignored);
  run.folder = ignored ? folder : real.string();
  const std::string about = run.folder + "/run.json";
  if (!fs::exists(about)) throw FormatError(folder, 0, "there is no run in this folder: it has no run.json");
  run.about = read_json(about);
  if (!run.about.is_object()) throw FormatError(about, 0, "no JSON object");
  run.name = real.parent_path().filename().string() + "/" + real.filename().string();
  if (fs::exists(run.folder + "/config.json")) run.config = read_json(run.folder + "/config.json");
  if (fs::exists(run.folder + "/summary.txt"))
    run.summary = read_plain_file(run.folder + "/summary.txt", limits::kJsonBytes);
  if (fs::exists(run.folder + "/log.jsonl")) read_journal(run.folder + "/log.jsonl", run);
  if (with_pictures) read_pictures(run.folder, run);
  return run;
}

}  // namespace ltr::doors
