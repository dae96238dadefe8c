#pragma once

// The trainer: `fit`, `evaluate`, `predict`, one test. `ltr::main` fills a RunRequest and calls one of them; all that
// goes wrong is an `ltr::Error`. Nothing here reads flags or prints.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ltr/program.h"
#include "runtime/settings/trainer_settings.h"
#include "runtime/train/division_plan.h"
#include "runtime/train/progress.h"
#include "runtime/train/ranks.h"

namespace ltr {

class Feed;
class ModelRoot;
namespace loggers {
class Recorder;
}

/// What computes a step.
enum class Backend : uint8_t {
  Auto,    ///< the faster one
  Native,  ///< plans; a step that has none is an error
  Torch,   ///< op by op
};

/// What flags ask of the loop.
struct RunFlags {
  bool bare = false;         ///< only the loop: no logs, rounds before training, checkpoints, non-finite test
  int64_t fast_dev_run = 0;  ///< N batches through every step that has a stream; 0 is off
  bool strict_resume = false;
  bool accept_data = false;  ///< go on although the data changed since the checkpoint
  bool mock_data = false;    ///< batches from the schema, no file is opened
  Backend backend = Backend::Torch;
  bool explain = false;  ///< `FitReport::steps_text` is wanted
  bool trace = false;    ///< and some steps event by event
  bool profile = false;  ///< it holds where the time went
  bool memory = false;   ///< it holds what lies in the memory of plans
};

/// A file that the data opened, and what tells it from another: its path, size and digest.
struct DataFile {
  Str path;
  int64_t bytes = 0;
  Str fingerprint;
};

/// How far weights that are not trained any further were trained.
struct Trained {
  int64_t steps = 0;
  int64_t epoch = 0;  ///< the last that they have seen, from 0
};

/// What flags or defaults give a step.
struct StepParams {
  std::vector<Value> values;  ///< of `StepInfo::params`, in order; of tensors nothing
  Tensors tensors;  ///< of those that are tensors, which `step predict` alone may have: behind the data's fields
};

/// Everything that a verb needs.
struct RunRequest {
  const Program& program;
  const ExperimentInfo& experiment;
  Data& data;
  Model& model;
  ModelRoot& root;  ///< finished
  TrainerSettings trainer;
  std::vector<Value> callbacks;           ///< calls, in order: `Checkpoint(…)`, `EarlyStop(…)`, the program's own
  loggers::Recorder* recorder = nullptr;  ///< null: nothing is recorded
  Progress& progress;
  Str run_dir;  ///< checkpoints go to `run_dir/checkpoints`
  Str run_name;
  Str resume;  ///< checkpoint folder to go on from, "" for a new run
  RunFlags flags;
  const Ranks& ranks = one_rank();
  GradientTravel travel;             ///< between them
  DivisionPlan division;             ///< what they do not all hold
  bool sync_batchnorm = true;        ///< batch norm is over the batches of all ranks
  std::vector<DataFile> data_files;  ///< in the order in which they were opened
  double flops = -1;                 ///< of a train step, for each record; -1: not known
  int64_t workers = 1;               ///< loader threads
  int64_t prefetch = 2;
  Str precision = "f32";                        ///< f64 f32 bf16 bf16_pure
  std::vector<std::pair<Str, Value>> settings;  ///< resolved, for the checkpoint's manifest
  std::array<StepParams, 4> step_params;        ///< by role
  Trained trained;                              ///< the weights of what only evaluates
  /// Reads stream `stream` of the data; empty: through data::Loader. Tests give their own.
  std::function<std::unique_ptr<Feed>(size_t stream)> make_feed;
  const StepParams& params_of(const StepInfo& step) const { return step_params[size_t(step.role)]; }
  /// Whether this process is the one that writes into `run_dir`.
  bool writes() const { return !run_dir.empty() && ranks.is_first(); }
};

/// A monitored value and where it was best.
struct Best {
  Str series;  ///< `val.acc`
  double value = 0;
  int64_t step = 0;
  Str path;  ///< its checkpoint, "" if none is left
};

struct FitReport {
  int signal = 0;  ///< that ended it
  /// 0 finished, early stop, `stop()`; 4 not finite; 75 after SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP; 130 after SIGINT.
  int exit_code = 0;
  Str outcome;  ///< "finished" "early stop" "stopped" "interrupted" "not finite"
  Str reason;   ///< in words, "" if finished as planned
  int64_t steps = 0;
  int64_t epochs = 0;  ///< completed ones
  int64_t samples = 0;
  int64_t skipped_updates = 0;
  int64_t left_out = 0;  ///< bad records, of all streams and resumes
  Str left_out_text;     ///< the same in words, "" if there are none
  double total_s = 0;
  // Of `total_s`, each second in one of them at most.
  double train_s = 0;
  double val_s = 0;
  double data_wait_s = 0;
  double checkpoint_s = 0;
  double planning_s = 0;         ///< making plans of steps, in the part of their kind
  int64_t plan_bytes = 0;        ///< that values of planned steps took at most
  GradientSum::Times exchanged;  ///< gradients between ranks
  std::vector<Best> best;
  std::vector<std::pair<Str, double>> last;  ///< newest value of every series, `val.loss`
  Str last_checkpoint;
  Str steps_text;  ///< how each step was computed, where `RunFlags` ask for it
  Str trace;       ///< of some steps, as JSON, likewise
};

struct EvalReport {
  int signal = 0;  ///< that ended it: its values are of a part of the data
  struct Stream {
    Str name;                                    ///< "" if the role has one stream
    std::vector<std::pair<Str, double>> values;  ///< `acc`, without role and stream
    int64_t samples = 0;
  };
  std::vector<Stream> streams;
  std::vector<std::pair<Str, double>> values;  ///< of the role, where it has several streams
  double total_s = 0;
};

struct PredictReport {
  int64_t batches = 0;
  int64_t samples = 0;
  double total_s = 0;
};

/// Trains. The model's weights are the trained ones afterwards.
/// `begins` is called once everything is accepted and nothing is done yet.
FitReport fit(RunRequest& request, const std::function<void()>& begins = [] {});
/// One pass over the streams of `Val` or `Test` with the weights as they are.
EvalReport evaluate(RunRequest& request, Role role);
/// The size of a batch that is none: other ranks have one at this turn.
constexpr int64_t kNoBatch = -1;
/// Runs `step predict` over the batches that `next` gives, with their stream by its number in the data, 0 where there is
/// none; it takes as many turns on every rank. `sink` gets the results of all on the first one, in the order of turns and ranks.
PredictReport predict(RunRequest& request, const std::function<bool(Batch&, size_t& stream)>& next,
                      const std::function<void(const Outputs& outputs)>& sink);

/// Total updates that `fit` would make, -1 if not known: for `describe`.
int64_t planned_steps(const RunRequest& request);

/// The step of `role` that `experiment` has, or null.
const StepInfo* find_step(const ExperimentInfo& experiment, Role role);

/// Runs one `test` block; `print` gets its prints. Throws what fails it.
void run_test(const Program& program, const TestInfo& test, const std::function<void(const Str&)>& print);

/// Loads weights and buffers of a checkpoint folder, or of a safetensors file, into the model; R2010 lists what does
/// not fit, R2011 what is damaged.
void load_weights(ModelRoot& root, const Str& path, bool averaged = false);
/// The checkpoint that `name` (`best`, `last`, or the name of a folder) means in a run folder; "" if there is none.
/// Damaged ones are passed over, with a sentence for each in `notices`; with `to_resume` those of weights only, too.
Str find_checkpoint(const Str& run_dir, const Str& name, std::vector<Str>* notices = nullptr, bool to_resume = false);
/// The checkpoints of a run, oldest first, with what is wrong with each ("" if it verifies).
std::vector<std::pair<Str, Str>> list_checkpoints(const Str& run_dir);

}  // namespace ltr
