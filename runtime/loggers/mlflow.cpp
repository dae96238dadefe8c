// `Mlflow()`: its server is told of the run as it goes on.

#include <cstdlib>

#include "doors/runs/mlflow_upload.h"
#include "runtime/api/error.h"
#include "runtime/loggers/follower.h"
#include "runtime/loggers/make.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::loggers {

namespace {

constexpr double kRequiredLimit_s = 10;  // of a request that the run waits for

Str text_of(const Value& call, const char* name, const Str& initial) {
  const Value* value = call.find(name);
  return value == nullptr || value->is_none() ? initial : value->as_str();
}

bool is_on(const Value& call, const char* name, bool initial) {
  const Value* value = call.find(name);
  return value == nullptr || value->is_none() ? initial : value->as_bool();
}

doors::MlflowSettings settings_of(const Value& call, const Str& experiment) {
  const char* variable = std::getenv("MLFLOW_TRACKING_URI");
  const Value* given = call.find("uri");
  const bool is_given = given != nullptr && !given->is_none();
  const Str uri = is_given ? given->as_str() : variable != nullptr ? variable : "";
  const Str what = is_given ? "`uri`" : "MLFLOW_TRACKING_URI";
  if (!is_given && uri.empty()) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             "Mlflow: neither `uri` nor MLFLOW_TRACKING_URI says where the server is"),
                    "Mlflow(uri = \"http://127.0.0.1:5000\"), or run with --set loggers.Mlflow=off");
  }
  if (const Option<Str> wrong = wrong_tracking_address(uri))
    throw error_at(call.location, err::settings_contradict, fmt::format("Mlflow: {} {}", what, *wrong));
  const Value* artifacts = call.find("artifacts");
  return {.uri = uri,
          .experiment = text_of(call, "experiment", experiment),
          .run_name = text_of(call, "run_name", ""),
          .artifacts = artifacts == nullptr ? "best" : artifacts->text,
          .has_origin = is_on(call, "auto", true)};
}

}  // namespace

std::unique_ptr<Logger> make_mlflow(const Value& call, const LoggerSetup& setup) {
  const doors::MlflowSettings settings = settings_of(call, setup.experiment);
  if (is_on(call, "required", false)) {
    const std::atomic<bool> is_called_off = false;
    try {
      doors::MlflowUpload upload(setup.run_dir, settings, kRequiredLimit_s, is_called_off);
      upload.begin();
      for (const Str& refusal : upload.take_refusals())
        setup.warn(fmt::format("Mlflow: {} does not take {}", settings.uri, refusal));
    } catch (const doors::MlflowError& error) {
      throw error_at(call.location, err::logger_unreachable, "Mlflow", error.what());
    }
  }
  constexpr int64_t kSoon = 100;
  return std::make_unique<Follower<doors::MlflowUpload>>("Mlflow", setup, settings.uri, kSoon, settings);
}

}  // namespace ltr::loggers
