#pragma once

// The loggers of a run, from the `loggers { }` section of its experiment.

#include <map>

#include "doors/tfevents.h"
#include "runtime/loggers/logger.h"

namespace ltr::loggers {

struct LoggerSetup {
  Str run_dir;
  int64_t resume_step = -1;  ///< the step that a resumed run goes on from; -1 for a new one
  std::map<Str, doors::HparamValue> hparams;
  Str experiment = {};  ///< its name
  Warn warn = [](const Str&) {};
};

/// The journal, and what `calls` list; R2006 for a logger that this version does not have, two that write one file, and an address
/// that is none; R1011 for a server that is required, and does not answer.
std::vector<std::unique_ptr<Logger>> make_loggers(const std::vector<Value>& calls, const LoggerSetup& setup);

/// `RUN/log.jsonl`: one object a line, one write a line. Appends.
std::unique_ptr<Logger> make_journal(const Str& path);
/// `metrics.csv`: one row per step. Rows from `resume_step` on are cut; that step's row is recorded again.
std::unique_ptr<Logger> make_csv(const Str& path, int64_t resume_step);
/// An event file in `folder`.
std::unique_ptr<Logger> make_tensorboard(const Str& folder, int64_t resume_step,
                                         std::map<Str, doors::HparamValue> hparams);
/// `Mlflow(…)`: follows the journal of the run.
std::unique_ptr<Logger> make_mlflow(const Value& call, const LoggerSetup& setup);
/// `Comet(…)`: likewise. R2006 without a key or a workspace.
std::unique_ptr<Logger> make_comet(const Value& call, const LoggerSetup& setup);
/// `Wandb(…)`: an offline folder, written from the journal. R2006 for a project that cannot be called so.
std::unique_ptr<Logger> make_wandb(const Value& call, const LoggerSetup& setup);

}  // namespace ltr::loggers
