#include "doors/comet.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/http_send.h"
#include "doors/json.h"
#include "doors/number.h"
#include "doors/runs/comparison.h"

namespace ltr::doors {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds kBetweenValues{200};  // the service takes five a second
constexpr std::chrono::seconds kHeartbeat{60};
constexpr int kToBeStartedAgain = 75;

std::string comet_state(const std::string& run) { return run + "/sync/comet.json"; }

Json comet_state_of(const std::string& run) {
  if (!fs::exists(comet_state(run))) return Json::object();
  Json state = read_json(comet_state(run));
  if (!state.is_object()) throw FormatError(comet_state(run), 0, "it is no object");
  return state;
}

std::string comet_text(const Json& body) { return body.dump(-1, ' ', false, Json::error_handler_t::replace); }

int64_t to_ms(const Json& time_s) { return time_s.is_number() ? std::llround(time_s.get<double>() * 1000) : 0; }

/// A cell of the table of a value of the journal.
std::string cell_of(const Json& value) { return value.is_string() ? value.get<std::string>() : comet_text(value); }

}  // namespace

CometUpload::CometUpload(std::string run, CometSettings settings, std::string key, double limit_s,
                         const std::atomic<bool>& is_called_off)
    : run_(std::move(run)),
      settings_(std::move(settings)),
      key_(std::move(key)),
      limit_s_(limit_s),
      is_called_off_(is_called_off) {}

std::string CometUpload::service() {
  const char* given = std::getenv("COMET_URL_OVERRIDE");
  std::string url = given != nullptr && *given != '\0' ? given : "https://www.comet.com";
  const auto drop = [&url](std::string_view end) {
    if (url.ends_with(end)) url.resize(url.size() - end.size());
  };
  // Their own client wants the path of its interface in it.
  drop("/");
  drop("/clientlib");
  return url;
}

std::optional<std::string> CometUpload::wrong_key(std::string_view key) {
  if (key.empty()) return "is not set; the key of your account stands in Comet's settings";
  const bool is_printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 127; });
  return is_printable ? std::nullopt : std::optional<std::string>("holds no spaces and no lines");
}

std::optional<CometSettings> CometUpload::begun(const std::string& run) {
  const Json state = comet_state_of(run);
  if (!state.contains("settings")) return std::nullopt;
  try {
    const Json& given = state["settings"];
    return CometSettings{given.at("url"), given.at("workspace"), given.at("project"), given.at("name")};
  } catch (const Json::exception&) {
    throw FormatError(comet_state(run), 0, "it does not say where to");
  }
}

std::string CometUpload::send(const char* method, const std::string& path, std::string_view body,
                              const std::string& type) {
  // A file may take longer than a word.
  const double limit_s = limit_s_ + double(body.size()) / 1e6;
  const HttpAnswer answer = send_http({.method = method,
                                       .url = settings_.url + "/api/rest/v2/" + path,
                                       .body = body,
                                       .type = type,
                                       .authorization = key_},
                                      limit_s, is_called_off_);
  if (answer.status == 0) throw CometError(0, answer.problem);
  ++answers_;
  if (answer.is_good()) return answer.body;
  const Json told = try_json(answer.body);
  std::string why = told.is_object() && told.contains("msg") && told["msg"].is_string() ? told["msg"] : Json("");
  why = why.substr(0, std::min(why.find('\n'), size_t(300)));
  throw CometError(answer.status, "it answers " + std::to_string(answer.status) + (why.empty() ? "" : ": " + why));
}

Json CometUpload::post(const std::string& path, Json body) {
  if (remote_.contains("experimentKey")) body["experimentKey"] = remote_["experimentKey"];
  Json told = try_json(send("POST", "write/experiment/" + path, comet_text(body), "application/json"));
  return told.is_object() ? told : Json::object();
}

void CometUpload::begin() {
  if (!has_begun_) {
    const Json state = comet_state_of(run_);
    const std::optional<CometSettings> before = begun(run_);
    if (before && before->url == settings_.url && before->workspace == settings_.workspace &&
        before->project == settings_.project) {
      remote_ = state.value("remote", Json::object());
      offset_ = state.value("offset", uint64_t(0));
      steps_ = state.value("steps", std::map<std::string, int64_t>());
    }
    if (!fs::exists(journal()) || fs::file_size(journal()) < offset_) offset_ = 0;
    // Before the service is asked, so that an experiment that it made and could not tell of is found again.
    may_be_there_ = remote_.contains("mark");
    if (!may_be_there_) remote_["mark"] = new_key();
    save();
    has_begun_ = true;
  }
  if (!remote_.contains("experimentKey")) {
    remote_["experimentKey"] = experiment();
    save();
  }
  if (!remote_.contains("has_origin")) {
    tell_origin();
    remote_["has_origin"] = true;
    save();
  }
  if (!remote_.contains("has_settings")) {
    tell_settings();
    remote_["has_settings"] = true;
    save();
  }
}

std::string CometUpload::name() const {
  if (!settings_.name.empty()) return settings_.name;
  const Json about = read_json(run_ + "/run.json");
  return about.value("experiment", "") + "/" + about.value("run", "");
}

std::string CometUpload::experiment() {
  // Names need not be unique there, and a create takes nothing else: the mark goes into the name until the answer has come.
  const std::string marked = name() + " " + remote_.value("mark", "");
  if (std::exchange(may_be_there_, true)) {
    if (const auto key = find_experiment(marked)) return *key;
  }
  const Json made =
      post("create",
           {{"workspaceName", settings_.workspace}, {"projectName", settings_.project}, {"experimentName", marked}});
  const std::string key = made.value("experimentKey", "");
  if (key.empty()) throw CometError(0, "what answers is not Comet");
  return key;
}

std::optional<std::string> CometUpload::find_experiment(const std::string& name) {
  Json told;
  try {
    told = try_json(send("GET",
                         "experiments?workspaceName=" + percent_encoded(settings_.workspace) +
                             "&projectName=" + percent_encoded(settings_.project),
                         "", "application/json"));
  } catch (const CometError& error) {
    // A project begins with its first experiment.
    if (!error.is_refusal() && error.status != 404) throw;
    return std::nullopt;
  }
  if (!told.is_object()) return std::nullopt;
  for (const Json& one : told.value("experiments", Json::array())) {
    if (one.is_object() && one.value("experimentName", Json()) == name) return one.value("experimentKey", "");
  }
  return std::nullopt;
}

void CometUpload::other(const std::string& name, const std::string& value) {
  unless_refused("`" + name + "`", [&] {
    post("log-other", {{"key", name}, {"value", value}, {"timestamp", int64_t(std::time(nullptr)) * 1000}});
  });
}

void CometUpload::tell_origin() {
  other("Name", name());  // without its mark
  const Json about = read_json(run_ + "/run.json");
  const auto text = [&](const char* place) {
    const Json::json_pointer at(place);
    return about.contains(at) && !about[at].is_null() ? setting_text(about[at]) : "";
  };
  std::tm parts{};
  if (::strptime(text("/started").c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) != nullptr) {
    const int64_t start_ms = int64_t(::timegm(&parts)) * 1000;
    unless_refused("its start", [&] { post("set-start-end-time", {{"startTimeMillis", start_ms}}); });
  }
  for (const auto& [name, place] : {std::pair("source", "/source/files/0/path"),
                                    {"source.sha256", "/source/sha256"},
                                    {"ltr.version", "/toolchain/ltrc"},
                                    {"topology", "/topology/name"},
                                    {"seed", "/seed"}}) {
    if (const std::string value = text(place); !value.empty()) other(name, value);
  }
  if (text("/git/commit").empty()) return;
  unless_refused("what git says", [&] {
    post("git/metadata",
         {{"parent", text("/git/commit")}, {"branch", text("/git/branch")}, {"origin", text("/git/remote")}});
  });
}

void CometUpload::tell_settings() {
  const Json config = read_json(run_ + "/config.json");
  Json tags = Json::array();
  for (const auto& [name, setting] : config.items()) {
    const Json value = setting.is_object() ? setting.value("value", Json()) : Json();
    if (value.is_null()) continue;
    if (name.starts_with("tags.")) {
      tags.push_back(name.substr(5) + "=" + setting_text(value));
    } else if (setting.value("from", "") != "default") {
      unless_refused("`" + name + "`", [&] {
        post("parameter", {{"parameterName", name},
                           {"parameterValue", setting_text(value)},
                           {"timestamp", int64_t(std::time(nullptr)) * 1000}});
      });
    }
  }
  if (!tags.empty()) unless_refused("tags", [&] { post("tags", {{"addedTags", tags}}); });
  unless_refused("config.json", [&] { send_file("config.json", read_file(run_ + "/config.json")); });
}

void CometUpload::send_all() {
  begin();
  stay_alive();
  const News news = read_news();
  if (news.end == offset_) return;
  bool is_first = true;
  for (const auto& [name, value] : news.values) {
    if (!std::exchange(is_first, false)) pause();
    stay_alive();
    unless_refused("`" + name + "`", [&] { send_value(name, value); });
    steps_[name] = value.value("step", int64_t(0));
  }
  if (!news.event.is_null()) send_end(news.event);
  offset_ = news.end;
  save();
}

void CometUpload::send_value(const std::string& name, const Json& value) {
  Json body = {{"metricName", name},
               {"metricValue", value.at("value")},
               {"step", value.at("step")},
               {"timestamp", to_ms(value.value("time", Json()))}};
  if (value.contains("epoch")) body["epoch"] = value["epoch"];
  post("metric", body);
}

void CometUpload::send_end(const Json& event) {
  const std::string table_text = table();
  unless_refused("metrics.csv", [&] { send_file("metrics.csv", table_text); });
  const std::string name = event.value("event", "");
  if (event.value("exit_code", 0) == kToBeStartedAgain) return;
  other("status", name == "finish" ? "finished" : name == "fail" ? "failed" : "stopped");
  unless_refused("its end",
                 [&] { post("set-start-end-time", {{"endTimeMillis", to_ms(event.value("time", Json()))}}); });
}

void CometUpload::send_file(const std::string& name, std::string_view bytes) {
  // Nothing that a run writes holds this line.
  const std::string mark = "ltr-part-" + remote_.value("experimentKey", "");
  std::string body = "--" + mark + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
                     "\"\r\nContent-Type: application/octet-stream\r\n\r\n";
  body.append(bytes).append("\r\n--" + mark + "--\r\n");
  send("POST",
       "write/experiment/upload-asset?experimentKey=" + remote_.value("experimentKey", "") + "&fileName=" + name +
           "&overwrite=true",
       body, "multipart/form-data; boundary=" + mark);
}

void CometUpload::stay_alive() {
  const auto now = std::chrono::steady_clock::now();
  if (told_alive_.time_since_epoch().count() != 0 && now - told_alive_ < kHeartbeat) return;
  send("GET", "write/experiment/set-status?experimentKey=" + remote_.value("experimentKey", ""), "",
       "application/json");
  told_alive_ = now;
}

CometUpload::News CometUpload::read_news() const {
  News news{.end = offset_};
  std::ifstream file(journal(), std::ios::binary);
  file.seekg(std::streamoff(offset_));
  // What has no end of line yet is no line.
  for (std::string text; std::getline(file, text) && !file.eof();) {
    news.end += text.size() + 1;
    const Json line = try_json(text);
    if (!line.is_object()) continue;
    const std::string event = line.value("event", "");
    if (event == "finish" || event == "stop" || event == "fail") news.event = line;
    if (event == "start" || event == "resume") news.event = nullptr;
    if (!line.contains("values")) continue;
    const int64_t step = line.value("step", int64_t(0));
    for (const auto& [name, value] : line["values"].items()) {
      const auto there = steps_.find(name);
      if (there != steps_.end() && step <= there->second) continue;
      Json& newest = news.values[name];
      if (newest.is_object() && newest.value("step", int64_t(0)) > step) continue;
      newest = {{"value", value}, {"step", step}, {"time", line.value("time", Json())}};
      if (line.contains("epoch")) newest["epoch"] = line["epoch"];
    }
  }
  return news;
}

int64_t CometUpload::waiting() const {
  const News news = read_news();
  return int64_t(news.values.size()) + (news.event.is_null() ? 0 : 1);
}

void CometUpload::each_line(const std::function<void(const Json& line)>& take) const {
  std::ifstream file(journal(), std::ios::binary);
  int64_t last = -1;
  for (std::string text; std::getline(file, text) && !file.eof();) {
    const Json line = try_json(text);
    if (!line.is_object() || !line.contains("values")) continue;
    // A resumed run takes steps again that are there already.
    const int64_t step = line.value("step", int64_t(0));
    if (step < last) continue;
    last = step;
    take(line);
  }
}

std::string CometUpload::table() const {
  std::vector<std::string> names = {"step", "epoch"};
  each_line([&](const Json& line) {
    for (const auto& [name, value] : line["values"].items()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  });
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
    out += '\n';
  };
  add(names);
  std::vector<std::string> row;
  each_line([&](const Json& line) {
    const std::string step = std::to_string(line.value("step", int64_t(0)));
    if (!row.empty() && row[0] != step) {
      add(row);
      row.clear();
    }
    row.resize(names.size());
    row[0] = step;
    if (line.contains("epoch")) row[1] = cell_of(line["epoch"]);
    for (const auto& [name, value] : line["values"].items())
      row[size_t(std::ranges::find(names, name) - names.begin())] = cell_of(value);
  });
  if (!row.empty()) add(row);
  return out;
}

void CometUpload::pause() const {
  const auto until = std::chrono::steady_clock::now() + kBetweenValues;
  while (!is_called_off_ && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void CometUpload::save() const {
  fs::create_directory(run_ + "/sync");  // of a run that somebody deleted none
  const Json state = {{"offset", offset_},
                      {"remote", remote_},
                      {"steps", steps_},
                      {"settings",
                       {{"url", settings_.url},
                        {"workspace", settings_.workspace},
                        {"project", settings_.project},
                        {"name", settings_.name}}}};
  write_file_atomically(comet_state(run_), state.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

template <class Send>
void CometUpload::unless_refused(const std::string& what, const Send& send) {
  try {
    send();
  } catch (const CometError& error) {
    if (!error.is_refusal()) throw;
    if (refused_.insert(what).second) refusals_.push_back(what + ": " + error.what());
  }
}

}  // namespace ltr::doors
