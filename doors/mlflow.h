#pragma once

// The tracking API of MLflow, 2 and 3, as far as a run is told of by it.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ltr::doors {

/// A request that was not answered, or not with what it asked for.
struct MlflowError : std::runtime_error {
  MlflowError(long answered, std::string named, const std::string& what)
      : std::runtime_error(what), status(answered), code(std::move(named)) {}
  long status;       ///< 0: there is no answer
  std::string code;  ///< of MLflow: `RESOURCE_DOES_NOT_EXIST`
  /// The server understood the request, and does not want it: no later one either.
  bool is_refusal() const { return status == 400 || status == 413 || status == 422; }
};

struct MlflowRun {
  std::string experiment_id;
  std::string run_id;
  std::string artifact_uri;
};
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// A server. Credentials are those of the environment: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, else
/// MLFLOW_TRACKING_TOKEN. Every member throws MlflowError.
class Mlflow {
 public:
  /// A request takes `limit_s` at most, less once `is_called_off`.
  Mlflow(std::string uri, double limit_s, const std::atomic<bool>& is_called_off);

  /// The id of the experiment of that name, which is made if there is none.
  std::string experiment(const std::string& name);
  MlflowRun create_run(const std::string& experiment_id, const std::string& name, int64_t start_ms,
                       const NamedTexts& tags);
  /// The run with that tag.
  std::optional<MlflowRun> find_run(const std::string& experiment_id, const std::string& key, const std::string& value);
  /// Values beyond `kValueLength` characters are cut.
  void log_params(const std::string& run_id, const NamedTexts& params);
  /// `metrics` are objects of `key`, `value`, `timestamp` in milliseconds, and `step`.
  void log_metrics(const std::string& run_id, std::span<const nlohmann::json> metrics);
  /// `RUNNING FINISHED FAILED KILLED`; without `end_ms` the run has none.
  void set_status(const std::string& run_id, const std::string& status, std::optional<int64_t> end_ms);
  /// A file of the run. Only of servers that take files themselves: `takes_artifacts`.
  void put_artifact(const MlflowRun& run, const std::string& path, std::string_view bytes);
  static bool takes_artifacts(const MlflowRun& run) { return run.artifact_uri.starts_with("mlflow-artifacts:"); }

  /// What names of metrics, params and tags may hold; other characters become `_`.
  static std::string allowed_name(std::string_view name);

  /// Answers of any kind, so far. Other threads may ask.
  int64_t answers() const { return answers_; }

  static constexpr size_t kMostMetrics = 1000;
  static constexpr size_t kMostParams = 100;
  static constexpr size_t kValueLength = 6000;
  static constexpr size_t kNameLength = 250;

 private:
  nlohmann::json call(const char* method, const std::string& path, const nlohmann::json& body);
  std::string send(const char* method, const std::string& path, std::string_view body, const char* type);

  std::string uri_;
  double limit_s_;
  const std::atomic<bool>& is_called_off_;
  std::string user_, password_, token_;
  std::atomic<int64_t> answers_ = 0;
};

}  // namespace ltr::doors
