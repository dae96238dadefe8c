#pragma once

// The tables that a generated program hands to `ltr::main`.

#include "ltr/api.h"

namespace ltr {

/// An `hparam`: a flag of the binary and a key of its `config.json`.
struct HparamInfo {
  const char* name;
  const char* type;  ///< "int" "float" "bool" "str" "path" "duration" "period" "bytes"
  const char* doc;
  const char* where;  ///< the rule's text, "" if it has none
  Location location;
};

/// A side of a rule, `classes` of `classes % heads == 0`, and its value.
struct RuleSide {
  const char* text;
  double value;
};

/// Resolves settings: the generated code declares each with the value that the program gives, and
/// reads back what holds after `--config`, the environment and the command line. Faults are
/// collected and reported together.
class LTR_EXPORT Settings {
 public:
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  virtual ~Settings();

  /// The final value of an hparam. `given`: its default; `set`: the value of the experiment's
  /// `set`, if any.
  virtual Value hparam(const HparamInfo& info, const Value& given, const Value* set) = 0;
  /// A `where` clause of the hparam `name`. `kind` and operands help to name the nearest allowed
  /// values: `fits` tells whether the rule would hold for another value of this int hparam (null
  /// for others).
  virtual void check_hparam(const char* name, bool holds, bool (*fits)(int64_t)) = 0;
  /// The setting `path`, which the program fills with `hparam`, keeps to its rule, too, if it is given itself.
  virtual void check_setting(const char* path, const char* hparam, bool holds) = 0;
  /// The final value of the setting `path` (`trainer.epochs`, `data.root`, `model.width`).
  virtual Value get(const char* path, const char* type, const Value& given, const Location& location) = 0;
  /// A rule of a declaration that could not be decided at compile time: R2007 unless it holds, with the values of the
  /// hparams that it rests on, and of its `sides` that are no hparams.
  virtual void oblige(bool holds, const char* rule, const std::vector<const char*>& hparams, const Location& location,
                      const std::vector<RuleSide>& sides) = 0;
  /// A rule over the settings `paths` that holds with what the program says for them: R2007 unless it holds, if one of
  /// them is given by itself.
  virtual void oblige_settings(bool holds, const char* rule, const std::vector<const char*>& paths,
                               const Location& location) = 0;
  /// Settings of a section that are calls: `callbacks`, `loggers`. Arguments may be replaced, `off`
  /// removes one.
  virtual void call(const char* section, const Value& given) = 0;
  /// Number of ranks of this run.
  virtual int64_t world() const = 0;
  virtual Str run_dir() const = 0;
  virtual Str run_name() const = 0;
};

enum class LogKind : uint8_t { Scalar, Metric, Image, Histogram, Text };
enum class LogWhen : uint8_t { Step, Epoch, Both };

/// One `log` statement. `name` is without its role (`acc`); `role` is that of the step or hook.
struct LogInfo {
  const char* name;
  Role role;
  LogKind kind;
  LogWhen when;
  Reduce reduce;
  bool bar;
  Location location;
  bool is_whole = false;    ///< stands in a hook of a whole epoch: it belongs to no stream of its role
  const char* each = "";    ///< the member, a metric of several values, of which each is a series; "" for one value
  const char* better = "";  ///< "max" or "min", where it is known which is better
};

/// A parameter of `step predict` that has a default, or no stream to come from.
struct StepParam {
  const char* name;
  const char* type;     ///< "int" "float" "bool" "str", or the tensor type as text
  const char* initial;  ///< its default as text, "" if it must be given
  Location location;
};

class Model;

/// A step of the model, bound to the fields of the data it is wired to.
struct StepInfo {
  const char* name;
  Role role;
  /// `params` are the values of `StepInfo::params`, in order.
  void (*run)(Model& model, Context& cx, const Batch& batch, const std::vector<Value>& params);
  std::vector<int> fields;  ///< which batch fields it reads
  std::vector<StepParam> params;
  std::vector<int> logs;  ///< slots that it may write, in order of declaration
  bool random;            ///< draws random numbers (dropout, rand)
  bool minimizes;
  bool is_manual;
  Location location;
  /// The optimizers of its `minimize` statements, in order of the program; one that an expression chooses is not named.
  bool updates_always = false;  ///< every run makes the same updates, each once, in the same order
  const char* unplanned =
      "";  ///< why it has no plan where it comes to `unplanned_at`, behind "it"; "" where nothing is known
  Location unplanned_at;
};

/// Base of the generated object of a `model` declaration.
class LTR_EXPORT Model : public Block {
 public:
  struct MetricMember {
    const char* name;
    Metric& (*of)(Model& model, int64_t stream);
  };
  std::vector<MetricMember> metrics;
};

/// A callback of the program itself. `hooks` are names of runtime.md 3.1.
struct CallbackInfo {
  const char* name;
  std::vector<const char*> hooks;
  std::vector<int> logs;
  /// `arguments` is the resolved call of the experiment.
  Callback* (*make)(const Value& arguments, Model& model);
  Location location;
};

/// A schedule of the program itself.
struct ScheduleInfo {
  const char* name;
  std::vector<const char*> params;  ///< what its call must give
  /// What the rate is multiplied by at update `step`, from 0, of `total` planned ones.
  double (*factor)(int64_t step, int64_t total, const Value& call);
};

struct TopologyInfo {
  const char* name;
  /// Declares its settings under `topology.`.
  void (*resolve)(Settings& settings);
  Location location;
};

struct BlockInfo {
  const char* name;
  bool is_recomputed;  ///< a topology names it in `recompute at`: its calls can be made again in the backward pass
};

/// What the code of one block takes in the train step.
struct LayerCost {
  const char* path;
  const char* output;  ///< sizes of its result, `[B, 10]`; "" if the step does not call it
  int64_t weights;
  double flops;  ///< of the forward pass, for each record; -1: not known
};

/// An hparam that sizes hang on, and its value as the compiler had it.
struct SizedBy {
  const char* hparam;
  const char* value;
};

struct ExperimentInfo {
  const char* name;
  const char* data;
  const char* model;
  const char* topology;  ///< "" for the default, `{ devices = auto }`
  /// hparams, then `data.*`, `model.*` that hang on no data, `trainer.*`, `tags.*`, obligations.
  void (*resolve)(Settings& settings);
  Data* (*make_data)(Settings& settings);
  /// `model.*` that hang on data, then the model itself at `root`.
  Model* (*make_model)(Settings& settings, Data& data, Scope root);
  /// Calls `settings.call("callbacks", …)` and `settings.call("loggers", …)` for each one listed, and `settings.call("implied", …)`
  /// for callbacks that are there by themselves.
  void (*list_callbacks)(Settings& settings);
  std::vector<StepInfo> steps;
  Location location;
  // As the compiler counted, with what the program says for its settings:
  std::vector<LayerCost> layers;
  double forward_flops = -1, backward_flops = -1;  ///< of a train step, for each record; -1: not known
  std::vector<SizedBy> sized_by;
  const char* semantic_hash = "";  ///< of what it computes, as `ltrc lock` has it
};

/// What `overfit(model, data, steps)` needs of a pair.
struct TrainPair {
  void (*run)(Model& model, Context& cx, const Batch& batch, const std::vector<Value>& params);
};
/// Trains `model` on the first batch of the data's train stream, `steps` times; gives the last
/// loss.
LTR_EXPORT double overfit(Context& cx, Model& model, Data& data, const TrainPair& pair, int64_t steps);
/// Whether the gradient of `f` at `x` is that of central differences, within 1e-5 of its size or of 1: a program's own
/// computations, its weights included, are in f64 meanwhile. A result of several numbers is looked at along one fixed
/// random direction.
LTR_EXPORT bool gradcheck(Context& cx, const Callable<Tensor, Tensor>& f, const Tensor& x);

/// Builds a model for a test, outside of any experiment; it lives until the test ends.
LTR_EXPORT Scope test_root(Context& cx);

struct TestInfo {
  const char* title;
  void (*run)(Context& cx);
  Location location;
};

struct SourceFile {
  const char* path;
  const char* text;
};

struct ObligationInfo {
  const char* text;
  const char* fate;  ///< "proven" "at start" "first batch"
  Location location;
};

/// Everything a program is.
struct Program {
  const char* name;  ///< of the file, without `.ltr`
  int edition;
  const char* source_hash;  ///< SHA-256 over all sources, hex
  const char* compiler;     ///< version of ltrc
  const char* folder = "";  ///< where paths of its sources begin, as it was built; "" where they are absolute
  std::vector<SourceFile> sources;
  std::vector<LogInfo> logs;
  std::vector<CallbackInfo> callbacks;
  std::vector<ScheduleInfo> schedules;
  std::vector<TopologyInfo> topologies;
  std::vector<BlockInfo> blocks;
  std::vector<ExperimentInfo> experiments;
  std::vector<TestInfo> tests;
  std::vector<ObligationInfo> obligations;
};

/// Runs the program as the command line says; gives the exit code of runtime.md 1.4.
LTR_EXPORT int main(int argc, char** argv, const Program& program);

}  // namespace ltr
