#include "doors/mlflow.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "doors/http_send.h"
#include "doors/json.h"

namespace ltr::doors {

namespace {

using Json = nlohmann::json;

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// The first `count` bytes of `text`, less where a character would be cut.
std::string shortened(const std::string& text, size_t count) {
  if (text.size() <= count) return text;
  while (count > 0 && (static_cast<unsigned char>(text[count]) & 0xC0) == 0x80) --count;
  return text.substr(0, count);
}

Json pairs(const NamedTexts& texts, size_t most) {
  Json out = Json::array();
  for (const auto& [name, text] : texts)
    out.push_back({{"key", Mlflow::allowed_name(name)}, {"value", shortened(text, most)}});
  return out;
}

MlflowError no_server() { return {0, "", "what answers is no tracking server"}; }

/// What an answer says at `path`, `/run/info/run_id`.
std::string text_at(const Json& told, const char* path) {
  const Json::json_pointer place(path);
  if (!told.contains(place) || !told[place].is_string()) throw no_server();
  return told[place].get<std::string>();
}

MlflowRun run_of(const Json& run) {
  return {text_at(run, "/info/experiment_id"), text_at(run, "/info/run_id"), text_at(run, "/info/artifact_uri")};
}

}  // namespace

Mlflow::Mlflow(std::string uri, double limit_s, const std::atomic<bool>& is_called_off)
    : uri_(std::move(uri)), limit_s_(limit_s), is_called_off_(is_called_off) {
  while (uri_.ends_with('/')) uri_.pop_back();
  user_ = from_environment("MLFLOW_TRACKING_USERNAME");
  password_ = from_environment("MLFLOW_TRACKING_PASSWORD");
  if (user_.empty()) token_ = from_environment("MLFLOW_TRACKING_TOKEN");
}

std::string Mlflow::send(const char* method, const std::string& path, std::string_view body, const char* type) {
  // A file may take longer than a word.
  const double limit_s = limit_s_ + double(body.size()) / 1e6;
  const HttpAnswer answer = send_http({.method = method,
                                       .url = uri_ + "/api/2.0/" + path,
                                       .body = body,
                                       .type = type,
                                       .user = user_,
                                       .password = password_,
                                       .token = token_},
                                      limit_s, is_called_off_);
  if (answer.status == 0) throw MlflowError(0, "", answer.problem);
  ++answers_;
  if (answer.is_good()) return answer.body;
  const Json told = try_json(answer.body);
  const auto text = [&](const char* name) {
    return told.is_object() && told.contains(name) && told[name].is_string() ? told[name].get<std::string>() : "";
  };
  std::string why = text("message");
  why = shortened(why.substr(0, why.find('\n')), 300);
  throw MlflowError(answer.status, text("error_code"),
                    "it answers " + std::to_string(answer.status) + (why.empty() ? "" : ": " + why));
}

Json Mlflow::call(const char* method, const std::string& path, const Json& body) {
  const std::string text = body.is_null() ? "" : body.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string answer = send(method, "mlflow/" + path, text, "application/json");
  Json told = try_json(answer);
  if (told.is_object()) return told;
  throw no_server();
}

std::string Mlflow::experiment(const std::string& name) {
  const auto find = [&] {
    return text_at(call("GET", "experiments/get-by-name?experiment_name=" + percent_encoded(name), nullptr),
                   "/experiment/experiment_id");
  };
  try {
    return find();
  } catch (const MlflowError& error) {
    if (error.code != "RESOURCE_DOES_NOT_EXIST") throw;
  }
  try {
    return text_at(call("POST", "experiments/create", {{"name", name}}), "/experiment_id");
  } catch (const MlflowError& error) {
    // Somebody else was faster.
    if (error.code != "RESOURCE_ALREADY_EXISTS") throw;
  }
  return find();
}

MlflowRun Mlflow::create_run(const std::string& experiment_id, const std::string& name, int64_t start_ms,
                             const NamedTexts& tags) {
  const Json made = call("POST", "runs/create",
                         {{"experiment_id", experiment_id},
                          {"run_name", name},
                          {"start_time", start_ms},
                          {"tags", pairs(tags, kValueLength)}});
  return run_of(made.value("run", Json()));
}

std::optional<MlflowRun> Mlflow::find_run(const std::string& experiment_id, const std::string& key,
                                          const std::string& value) {
  const Json found = call("POST", "runs/search",
                          {{"experiment_ids", Json::array({experiment_id})},
                           {"filter", "tags.`" + key + "` = '" + value + "'"},
                           {"max_results", 1}});
  const Json runs = found.value("runs", Json::array());
  return runs.empty() ? std::nullopt : std::optional<MlflowRun>(run_of(runs[0]));
}

void Mlflow::log_params(const std::string& run_id, const NamedTexts& params) {
  for (size_t i = 0; i < params.size(); i += kMostParams) {
    const NamedTexts some(params.begin() + long(i), params.begin() + long(std::min(params.size(), i + kMostParams)));
    call("POST", "runs/log-batch", {{"run_id", run_id}, {"params", pairs(some, kValueLength)}});
  }
}

void Mlflow::log_metrics(const std::string& run_id, std::span<const Json> metrics) {
  for (size_t i = 0; i < metrics.size(); i += kMostMetrics) {
    const auto some = metrics.subspan(i, std::min(kMostMetrics, metrics.size() - i));
    call("POST", "runs/log-batch",
         {{"run_id", run_id}, {"metrics", Json(std::vector<Json>(some.begin(), some.end()))}});
  }
}

void Mlflow::set_status(const std::string& run_id, const std::string& status, std::optional<int64_t> end_ms) {
  Json body = {{"run_id", run_id}, {"status", status}};
  if (end_ms) body["end_time"] = *end_ms;
  call("POST", "runs/update", body);
}

void Mlflow::put_artifact(const MlflowRun& run, const std::string& path, std::string_view bytes) {
  std::string place = run.artifact_uri.substr(run.artifact_uri.find(':') + 1);
  // The server may be named: mlflow-artifacts://HOST/1/ID/artifacts.
  if (place.starts_with("//")) place.erase(0, std::min(place.find('/', 2), place.size()));
  send("PUT", "mlflow-artifacts/artifacts" + percent_encoded(place + "/" + path, "/"), bytes,
       "application/octet-stream");
}

std::string Mlflow::allowed_name(std::string_view name) {
  std::string out = shortened(std::string(name), kNameLength);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    const bool fits =
        byte >= 128 || std::isalnum(byte) != 0 || std::string_view("_-. :/").find(c) != std::string_view::npos;
    if (!fits) c = '_';
  }
  return out;
}

}  // namespace ltr::doors
