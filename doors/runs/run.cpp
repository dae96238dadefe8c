#include "doors/runs/run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

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

/// By name and step.
struct Recorded {
  std::map<std::string, std::map<int64_t, Point>> points;
  std::map<std::string, std::map<int64_t, std::string>> texts;
  std::map<std::string, std::map<int64_t, std::vector<std::vector<double>>>> matrices;

  /// What a process that goes on behind `step` records anew.
  void forget_behind(int64_t step) {
    for (auto& [name, of_name] : points) of_name.erase(of_name.upper_bound(step), of_name.end());
    for (auto& [name, of_name] : texts) of_name.erase(of_name.upper_bound(step), of_name.end());
    for (auto& [name, of_name] : matrices) of_name.erase(of_name.upper_bound(step), of_name.end());
  }
};

void take_line(const nlohmann::json& line, Recorded& recorded, JournalPart& part) {
  const std::string kind = line.value("kind", "");
  const int64_t step = line.value("step", int64_t(0));
  const double time = line.value("time", 0.0);
  if (kind == "metrics" && line.contains("values")) {
    for (const auto& [name, value] : line["values"].items())
      recorded.points[name][step] = {step, line.value("epoch", int64_t(0)), time, number_of(value)};
  } else if (kind == "event") {
    RunEvent event{line.value("event", ""), step, time, ""};
    if (event.begins()) recorded.forget_behind(step);
    nlohmann::json rest = line;
    for (const char* known : {"kind", "event", "step", "time"}) rest.erase(known);
    if (!rest.empty()) event.text = rest.dump();
    part.events.push_back(std::move(event));
  } else if (kind == "text") {
    auto& of_name = recorded.texts[line.value("name", "")];
    of_name[step] = line.value("text", "");
    if (of_name.size() > kNewest) of_name.erase(of_name.begin());
  } else if (kind == "matrix") {
    auto& of_name = recorded.matrices[line.value("name", "")];
    std::vector<std::vector<double>>& rows = of_name[step];
    rows.clear();
    for (const nlohmann::json& row : line.at("rows")) {
      rows.emplace_back();
      for (const nlohmann::json& value : row) rows.back().push_back(number_of(value));
    }
    if (of_name.size() > kNewest) of_name.erase(of_name.begin());
  }
}

/// What run.json says at the end of a run only: the best checkpoint, which its event names, and that there is nobody who will write it.
void add_of_now(Run& run) {
  if (run.about.value("status", "") == "running" && is_abandoned(run.folder)) run.about["status"] = "lost";
  if (run.about.contains("best") && run.about["best"].is_object()) return;
  for (const RunEvent& event : run.events) {
    if (event.name != "checkpoint") continue;
    const nlohmann::json facts = try_json(event.text);
    if (facts.is_object() && facts.contains("best")) run.about["best"] = facts["best"];
  }
}

/// No link to one: that may lead anywhere.
bool is_own_folder(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(fs::symlink_status(path, failed));
}

using Pictures = std::map<std::string, std::map<int64_t, std::string>>;

void keep_newest(std::map<int64_t, std::string>& of_name) {
  while (of_name.size() > kNewest) of_name.erase(of_name.begin());
}

/// `val.image-step0000200.png` is `val/image` at step 200.
void read_samples(const std::string& folder, Pictures& found) {
  if (!is_own_folder(folder)) return;
  std::map<std::string, std::map<int64_t, std::string>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t mark = name.rfind("-step");
    const std::string number = mark == std::string::npos ? "" : name.substr(mark + 5);
    if (!number.ends_with(".png") || number.size() < 5 || number.size() > 20 ||
        number.find_first_not_of("0123456789") != number.size() - 4 || !has_regular_file(entry.path().string()))
      continue;
    std::string tag = name.substr(0, mark);
    std::ranges::replace(tag, '.', '/');
    auto& of_name = files[tag];
    of_name[std::stoll(number)] = entry.path().string();
    keep_newest(of_name);
  }
  for (const auto& [tag, of_name] : files) {
    for (const auto& [step, path] : of_name) found[tag][step] = read_plain_file(path, limits::kImageBytes);
    keep_newest(found[tag]);
  }
}

void read_pictures(const std::string& folder, Run& run) {
  Pictures found;
  for (const std::string& file : event_files(folder)) {
    if (!has_regular_file(file)) continue;
    for (LoggedImage& image : read_images(file)) {
      auto& of_name = found[image.tag];
      of_name[image.step] = std::move(image.png);
      keep_newest(of_name);
    }
  }
  read_samples(folder + "/samples", found);
  for (auto& [name, of_name] : found) {
    for (auto& [step, png] : of_name) run.pictures.push_back({name, step, std::move(png)});
  }
}

}  // namespace

const Series* Run::find(const std::string& name) const {
  const auto found = std::ranges::find(series, name, &Series::name);
  return found == series.end() ? nullptr : &*found;
}

bool has_regular_file(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (!fs::exists(status)) return false;
  if (!fs::is_regular_file(status)) throw FormatError(path, 0, "no regular file");
  return true;
}

JournalPart read_journal(const std::string& path, uint64_t from) {
  // With the end of the line before.
  const uint64_t begin_of_text = from == 0 ? 0 : from - 1;
  const std::string text = read_plain_file(path, limits::kFileBytes, begin_of_text);
  if (from != 0 && !text.starts_with('\n')) throw FormatError(path, from, "no line begins here");
  JournalPart part;
  Recorded recorded;
  size_t begin = from - begin_of_text;
  for (size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    const nlohmann::json line = try_json(std::string_view(text).substr(begin, end - begin));
    if (!line.is_object()) throw FormatError(path, begin_of_text + begin, "a line that is no JSON object");
    try {
      take_line(line, recorded, part);
    } catch (const nlohmann::json::exception&) {
      throw FormatError(path, begin_of_text + begin, "a line whose values have other types");
    }
    begin = end + 1;
  }
  part.end = begin_of_text + begin;
  for (auto& [name, of_name] : recorded.texts) {
    for (auto& [step, logged] : of_name) part.texts.push_back({name, step, std::move(logged)});
  }
  for (auto& [name, of_name] : recorded.matrices) {
    if (of_name.empty()) continue;
    auto& [step, rows] = *of_name.rbegin();
    part.matrices.push_back({name, step, std::move(rows)});
  }
  for (auto& [name, points] : recorded.points) {
    Series series{name, {}};
    for (const auto& [step, point] : points) series.points.push_back(point);
    if (!series.points.empty()) part.series.push_back(std::move(series));
  }
  return part;
}

Run read_run(const std::string& folder, bool with_pictures) {
  Run run;
  std::error_code ignored;
  const fs::path real = fs::canonical(folder, ignored);
  run.folder = ignored ? folder : real.string();
  const auto file = [&](const char* name) { return run.folder + "/" + name; };
  const std::string about = file("run.json");
  if (!has_regular_file(about)) throw FormatError(folder, 0, "there is no run in this folder: it has no run.json");
  run.about = read_json(about);
  if (!run.about.is_object()) throw FormatError(about, 0, "no JSON object");
  if (!run.about.value("status", nlohmann::json("")).is_string())
    throw FormatError(about, 0, "a status that is no text");
  run.name = real.parent_path().filename().string() + "/" + real.filename().string();
  if (has_regular_file(file("config.json"))) run.config = read_json(file("config.json"));
  if (has_regular_file(file("summary.txt"))) run.summary = read_plain_file(file("summary.txt"), limits::kJsonBytes);
  if (is_own_folder(file("profile")) && has_regular_file(file("profile/steps.txt")))
    run.profile = read_plain_file(file("profile/steps.txt"), limits::kJsonBytes);
  if (has_regular_file(file("log.jsonl"))) {
    JournalPart journal = read_journal(file("log.jsonl"), 0);
    run.series = std::move(journal.series);
    run.events = std::move(journal.events);
    run.texts = std::move(journal.texts);
    run.matrices = std::move(journal.matrices);
    run.journal_end = journal.end;
  }
  add_of_now(run);
  if (with_pictures) read_pictures(run.folder, run);
  return run;
}

bool is_abandoned(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  const bool is_free = ::flock(file, LOCK_SH | LOCK_NB) == 0;
  ::close(file);
  return is_free;
}

}  // namespace ltr::doors
