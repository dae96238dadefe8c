#include "runtime/loggers/make.h"

#include <set>

#include "runtime/api/error.h"
#include "runtime/tables/run_names.h"

namespace ltr::loggers {

namespace {

/// What lies elsewhere, or is another file of the run, is not ours to write.
Str file_of(const Str& given, const Location& location) {
  if (const Option<Str> file = table_of_run(given)) return *file;
  throw with_help(error_at(location, err::settings_contradict,
                           fmt::format("Csv(file = \"{}\") is no .csv file of the run folder", given)),
                  "give it a name such as \"metrics.csv\" or \"tables/losses.csv\"");
}

}  // namespace

std::vector<std::unique_ptr<Logger>> make_loggers(const std::vector<Value>& calls, const LoggerSetup& setup) {
  std::vector<std::unique_ptr<Logger>> loggers;
  loggers.push_back(make_journal(setup.run_dir + "/log.jsonl"));
  std::set<Str> files;
  for (const Value& call : calls) {
    if (call.text == "Csv") {
      const Value* file = call.find("file");
      const Str name = file_of(file != nullptr && !file->is_none() ? file->as_str() : "metrics.csv", call.location);
      if (!files.insert(name).second) {
        throw error_at(call.location, err::settings_contradict, "two Csv loggers write " + name);
      }
      loggers.push_back(make_csv(setup.run_dir + "/" + name, setup.resume_step));
    } else if (call.text == "TensorBoard") {
      if (!files.insert("events.out.tfevents").second) {
        throw error_at(call.location, err::settings_contradict, "TensorBoard is listed twice");
      }
      const Value* hparams = call.find("hparams");
      const bool has_hparams = hparams == nullptr || hparams->is_none() || hparams->as_bool();
      loggers.push_back(make_tensorboard(setup.run_dir, setup.resume_step,
                                         has_hparams ? setup.hparams : std::map<Str, doors::HparamValue>()));
    } else if (call.text == "Mlflow") {
      if (!files.insert("sync/mlflow.json").second) {
        throw error_at(call.location, err::settings_contradict, "Mlflow is listed twice");
      }
      loggers.push_back(make_mlflow(call, setup));
    } else if (call.text == "Comet" || call.text == "Wandb") {
      if (!files.insert("sync/" + call.text).second) {
        throw error_at(call.location, err::settings_contradict, call.text + " is listed twice");
      }
      loggers.push_back(call.text == "Comet" ? make_comet(call, setup) : make_wandb(call, setup));
    } else if (call.text != "Jsonl") {
      throw with_help(
          error_at(call.location, err::settings_contradict, fmt::format("this version has no logger {}", call.text)),
          fmt::format("use Csv(), TensorBoard(), Mlflow(), Comet() or Wandb(), or run with --set loggers.{}=off",
                      call.text));
    }
  }
  return loggers;
}

}  // namespace ltr::loggers
