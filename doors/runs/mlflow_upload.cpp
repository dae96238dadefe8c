#include "doors/runs/mlflow_upload.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "doors/file.h"
#include "doors/http_send.h"
#include "doors/json.h"
#include "doors/mapping.h"
#include "doors/runs/comparison.h"

namespace ltr::doors {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Of metrics that are sent together. A line of the journal is sent whole, and seldom needs a second request.
constexpr size_t kMostTogether = Mlflow::kMostMetrics - 100;

std::string state_path(const std::string& run) { return run + "/sync/mlflow.json"; }

/// What the file at `path` holds; an empty object if there is none.
Json read_state(const std::string& path) {
  if (!fs::exists(path)) return Json::object();
  Json state = read_json(path);
  if (!state.is_object()) throw FormatError(path, 0, "it is no object");
  return state;
}

int64_t milliseconds(const Json& time_s) { return time_s.is_number() ? std::llround(time_s.get<double>() * 1000) : 0; }

/// When run.json says that the run began.
int64_t start_ms(const Json& about) {
  std::tm parts{};
  const std::string text = about.value("started", "");
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return int64_t(std::time(nullptr)) * 1000;
  return int64_t(::timegm(&parts)) * 1000;
}

bool is_tag(const std::string& setting) { return setting.starts_with("tags."); }

}  // namespace

MlflowUpload::MlflowUpload(std::string run, MlflowSettings settings, double limit_s,
                           const std::atomic<bool>& is_called_off)
    : run_(std::move(run)), settings_(std::move(settings)), server_(settings_.uri, limit_s, is_called_off) {}

std::optional<MlflowSettings> MlflowUpload::begun(const std::string& run) {
  const Json state = read_state(state_path(run));
  if (!state.contains("settings")) return std::nullopt;
  try {
    const Json& given = state["settings"];
    return MlflowSettings{given.at("uri"), given.at("experiment"), given.at("run_name"), given.at("artifacts"),
                          given.at("auto")};
  } catch (const Json::exception&) {
    throw FormatError(state_path(run), 0, "it does not say where to");
  }
}

void MlflowUpload::begin() {
  if (!has_begun_) {
    const Json state = read_state(state_path(run_));
    const std::optional<MlflowSettings> before = begun(run_);
    if (before && before->uri == settings_.uri && before->experiment == settings_.experiment) {
      remote_ = state.value("remote", Json::object());
      offset_ = state.value("offset", uint64_t(0));
    } else {
      remote_ = {{"key", new_key()}};
    }
    if (!fs::exists(journal()) || fs::file_size(journal()) < offset_) offset_ = 0;
    for (uint64_t at = 0; at < offset_;) {
      const Part part = read_part(at, offset_);
      if (part.end == at) break;
      for (const auto& [name, step] : part.steps) steps_[name] = step;
      at = part.end;
    }
    // Before the server is asked, so that a run that it made and could not tell of is found again.
    const bool is_new = !state.contains("remote") || state["remote"] != remote_;
    save();
    has_begun_ = true;
    may_be_there_ = !is_new;
  }
  if (!remote_.contains("run_id")) {
    const std::string experiment_id = server_.experiment(settings_.experiment);
    const std::string key = remote_.value("key", "");
    std::optional<MlflowRun> run;
    if (std::exchange(may_be_there_, true)) run = server_.find_run(experiment_id, "ltr.run", key);
    if (!run) {
      const Json about = read_json(run_ + "/run.json");
      std::string name = settings_.run_name;
      if (name.empty()) name = about.value("experiment", "") + "/" + about.value("run", "");
      run = server_.create_run(experiment_id, name, start_ms(about), tags());
    }
    remote_["experiment_id"] = run->experiment_id;
    remote_["run_id"] = run->run_id;
    remote_["artifact_uri"] = run->artifact_uri;
    save();
  }
  if (settings_.has_origin && !remote_.contains("has_params")) {
    send_params();
    remote_["has_params"] = true;
    save();
  }
}

void MlflowUpload::send_all() {
  begin();
  const std::string run_id = remote_.at("run_id");
  // What comes while it is sent waits for the next time: a fast run would be sent line by line.
  const uint64_t until = fs::exists(journal()) ? fs::file_size(journal()) : 0;
  while (offset_ < until) {
    const Part part = read_part(offset_, until);
    if (part.end == offset_) return;
    unless_refused(std::to_string(part.metrics.size()) + " values", [&] { server_.log_metrics(run_id, part.metrics); });
    if (!part.event.is_null()) send_event(part.event, part.end == fs::file_size(journal()));
    for (const auto& [name, step] : part.steps) steps_[name] = step;
    offset_ = part.end;
    save();
  }
}

int64_t MlflowUpload::waiting() const {
  int64_t count = 0;
  for (uint64_t at = offset_;;) {
    const Part part = read_part(at);
    if (part.end == at) return count;
    count += int64_t(part.metrics.size()) + (part.event.is_null() ? 0 : 1);
    at = part.end;
  }
}

MlflowUpload::Part MlflowUpload::read_part(uint64_t from, uint64_t until) const {
  Part part{.end = from};
  std::ifstream file(journal(), std::ios::binary);
  file.seekg(std::streamoff(from));
  // What has no end of line yet is no line.
  for (std::string text; part.metrics.size() < kMostTogether && part.end < until;) {
    if (!std::getline(file, text) || file.eof()) break;
    const Json line = try_json(text);
    part.end += text.size() + 1;
    if (!line.is_object()) continue;
    const std::string kind = line.value("kind", "");
    if (kind == "metrics" || kind == "system") add_values(part, line);
    const std::string event = kind == "event" ? line.value("event", "") : "";
    if (event != "resume" && event != "finish" && event != "stop" && event != "fail") continue;
    part.event = line;
    break;
  }
  return part;
}

void MlflowUpload::add_values(Part& part, const Json& line) const {
  const int64_t step = line.value("step", int64_t(0));
  Json values = line.value("values", Json::object());
  if (line.contains("epoch")) values["epoch"] = line["epoch"];
  for (const auto& [name, value] : values.items()) {
    const auto there = steps_.find(name);
    const auto before = part.steps.find(name);
    if ((there != steps_.end() && step <= there->second) || (before != part.steps.end() && step <= before->second))
      continue;
    part.steps[name] = step;
    part.metrics.push_back({{"key", Mlflow::allowed_name(name)},
                            {"value", value},
                            {"timestamp", milliseconds(line.value("time", Json()))},
                            {"step", step}});
  }
}

void MlflowUpload::send_event(const Json& event, bool is_last) {
  const std::string run_id = remote_.at("run_id");
  const std::string name = event.value("event", "");
  if (name == "resume") return server_.set_status(run_id, "RUNNING", std::nullopt);
  if (!is_last) return;  // the run went on
  send_artifacts();
  constexpr int kGoesOn = 75;  // whoever stopped the run starts it again
  if (event.value("exit_code", 0) == kGoesOn) return;
  const char* status = name == "finish" ? "FINISHED" : name == "fail" ? "FAILED" : "KILLED";
  server_.set_status(run_id, status, milliseconds(event.value("time", Json())));
}

void MlflowUpload::send_artifacts() {
  if (settings_.artifacts == "none") return;
  const MlflowRun run{remote_.value("experiment_id", ""), remote_.value("run_id", ""),
                      remote_.value("artifact_uri", "")};
  if (!Mlflow::takes_artifacts(run)) {
    refusals_.emplace_back(
        "files of the run, since it has them elsewhere than with itself (`mlflow server --serve-artifacts`)");
    return;
  }
  std::vector<std::string> files = {"config.json", "summary.txt"};
  const auto add_all = [&](const std::string& folder, const char* only) {
    if (!fs::exists(run_ + "/" + folder)) return;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run_ + "/" + folder)) {
      const std::string file = entry.path().lexically_relative(run_).string();
      // What begins with a dot is not whole yet.
      if (entry.is_regular_file() && file.find("/.") == std::string::npos &&
          (only == nullptr || entry.path().filename() == only))
        files.push_back(file);
    }
  };
  add_all("source", nullptr);
  if (settings_.artifacts == "all") {
    add_all("checkpoints", "weights.safetensors");
  } else {
    // Without a monitor no checkpoint is the best one.
    const bool has_best = settings_.artifacts == "best" && fs::exists(run_ + "/checkpoints/best");
    files.emplace_back(has_best ? "checkpoints/best/weights.safetensors" : "checkpoints/last/weights.safetensors");
  }
  std::ranges::sort(files);
  for (const std::string& file : files) {
    if (!fs::exists(run_ + "/" + file)) continue;
    const Mapping bytes(run_ + "/" + file);
    unless_refused(file, [&] { server_.put_artifact(run, file, bytes.text()); });
  }
}

void MlflowUpload::send_params() {
  NamedTexts params;
  const Json config = read_json(run_ + "/config.json");
  for (const auto& [name, setting] : config.items()) {
    const Json value = setting.is_object() ? setting.value("value", Json()) : Json();
    if (!value.is_null() && !is_tag(name)) params.emplace_back(name, setting_text(value));
  }
  unless_refused("settings", [&] { server_.log_params(remote_.at("run_id"), params); });
}

NamedTexts MlflowUpload::tags() const {
  NamedTexts tags = {{"ltr.run", remote_.value("key", "")}};
  const Json config = read_json(run_ + "/config.json");
  for (const auto& [name, setting] : config.items()) {
    if (is_tag(name) && setting.is_object())
      tags.emplace_back(name.substr(5), setting_text(setting.value("value", Json())));
  }
  if (!settings_.has_origin) return tags;
  const Json about = read_json(run_ + "/run.json");
  const auto add = [&](const char* tag, const char* place) {
    const Json::json_pointer at(place);
    if (about.contains(at) && !about[at].is_null()) tags.emplace_back(tag, setting_text(about[at]));
  };
  add("mlflow.source.name", "/source/files/0/path");
  tags.emplace_back("mlflow.source.type", "LOCAL");
  add("mlflow.source.git.commit", "/git/commit");
  add("mlflow.source.git.branch", "/git/branch");
  add("mlflow.source.git.repoURL", "/git/remote");
  add("mlflow.source.git.dirty", "/git/dirty");
  add("ltr.source", "/source/sha256");
  add("ltr.version", "/toolchain/ltrc");
  add("ltr.topology", "/topology/name");
  add("ltr.seed", "/seed");
  if (const char* user = std::getenv("USER"); user != nullptr) tags.emplace_back("mlflow.user", user);
  return tags;
}

void MlflowUpload::save() const {
  fs::create_directory(run_ + "/sync");  // of a run that somebody deleted none
  const Json state = {{"offset", offset_},
                      {"remote", remote_},
                      {"settings",
                       {{"uri", settings_.uri},
                        {"experiment", settings_.experiment},
                        {"run_name", settings_.run_name},
                        {"artifacts", settings_.artifacts},
                        {"auto", settings_.has_origin}}}};
  write_file_atomically(state_path(run_), state.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

template <class Send>
void MlflowUpload::unless_refused(const std::string& what, const Send& send) {
  try {
    send();
  } catch (const MlflowError& error) {
    if (!error.is_refusal()) throw;
    refusals_.push_back(what + ": " + error.what());
  }
}

}  // namespace ltr::doors
