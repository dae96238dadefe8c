#pragma once

// How generated code hands tables and settings to the runtime. Everything is out of line: a program holds hundreds of
// such rows, and inlined vectors of strings would cost more to compile than all of its steps.

#include "ltr/program.h"
#include "ltr/values.h"

namespace ltr::build {

/// Rows `name, type, place, value` in order: arguments of a call, or settings.
class LTR_EXPORT Arguments {
 public:
  Arguments();
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  Arguments& add(const char* name, const char* type, const Location& at, int64_t value);
  Arguments& add(const char* name, const char* type, const Location& at, int value) {
    return add(name, type, at, int64_t(value));
  }
  Arguments& add(const char* name, const char* type, const Location& at, double value);
  Arguments& add(const char* name, const char* type, const Location& at, bool value);
  Arguments& add(const char* name, const char* type, const Location& at, const char* value);
  Arguments& add(const char* name, const char* type, const Location& at, const Str& value);
  Arguments& add(const char* name, const char* type, const Location& at, const Value& value);
  Arguments& none(const char* name, const char* type, const Location& at);
  Arguments& symbol(const char* name, const char* type, const Location& at, const char* value);
  Arguments& series(const char* name, const char* type, const Location& at, const char* value);
  Arguments& steps(const char* name, const char* type, const Location& at, double count);
  Arguments& epochs(const char* name, const char* type, const Location& at, double count);
  Arguments& seconds(const char* name, const char* type, const Location& at, double count);
  Arguments& bytes(const char* name, const char* type, const Location& at, int64_t count);
  /// The call `callee(arguments)` as value; takes the rows of `arguments`.
  Arguments& call(const char* name, const char* type, const Location& at, const char* callee, Arguments& arguments);

  /// These rows, also where they are a temporary.
  Arguments& rows() { return *this; }

  // What the rows are for. Each takes them.

  /// Declares every row as a setting; names are full paths.
  void declare(Settings& settings);
  /// The last value of the setting that is the only row.
  int64_t get_int(Settings& settings);
  double get_float(Settings& settings);
  bool get_bool(Settings& settings);
  Str get_str(Settings& settings);
  Value get(Settings& settings);
  /// The last value of an hparam. First row: its default; second row, if there is one: what the experiment sets.
  int64_t hparam_int(Settings& settings, const HparamInfo& info);
  double hparam_float(Settings& settings, const HparamInfo& info);
  bool hparam_bool(Settings& settings, const HparamInfo& info);
  Str hparam_str(Settings& settings, const HparamInfo& info);
  Value hparam(Settings& settings, const HparamInfo& info);
  /// The rows as a call.
  Value as_call(const char* callee, const Location& at);
  /// `settings.call(section, callee(rows))`.
  void list(Settings& settings, const char* section, const char* callee, const Location& at);
  std::vector<Argument> take();

 private:
  std::vector<Argument>* rows_;
};

/// An optimizer while it is described: its rule, then what stands in its braces.
class LTR_EXPORT OptimizerBuilder {
 public:
  OptimizerBuilder();
  ~OptimizerBuilder();
  OptimizerBuilder(const OptimizerBuilder&) = delete;
  OptimizerBuilder& operator=(const OptimizerBuilder&) = delete;

  Arguments rule;
  Arguments settings;
  OptimizerBuilder& group(const char* pattern, Arguments& settings, const Location& at);
  Optimizer* make(const Scope& scope, const char* name, const char* callee, const Location& callee_at,
                  const Weights& weights, const Location& at);

 private:
  std::vector<Group>* groups_;
};

/// A schema while it is described.
class LTR_EXPORT Fields {
 public:
  Fields();
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  Fields& add(const char* name, DType dtype, const char* host, std::initializer_list<int64_t> dims,
              FieldForm form = FieldForm::Plain);
  Schema take();
  const Schema& schema() const { return *schema_; }

 private:
  Schema* schema_;
};

using MapFunction = void (*)(const Data& self, const Record& in, Record& out);
LTR_EXPORT Stream map(const Stream& stream, const Data* self, MapFunction run, Fields& out, bool random,
                      const char* name, const Option<int64_t>& skip_bad, const Location& at);
LTR_EXPORT Stream filter(const Stream& stream, const Data* self, bool (*keeps)(const Data& self, const Record& in),
                         const char* name, const Location& at);
LTR_EXPORT void set_batch(Data& data, Fields& fields);
LTR_EXPORT void add_stream(Data& data, Role role, const char* name, const Stream& stream, const Location& at);
LTR_EXPORT void add_metric(Model& model, const char* name, Metric& (*of)(Model& model, int64_t stream));

// ---- the program's tables, row by row -----------------------------------------------------------------------------

/// The program of this process.
/// `folder`: where paths of its sources begin; "" where they are absolute.
LTR_EXPORT Program& program(const char* name, int edition, const char* source_hash, const char* compiler,
                            const char* folder = "");
LTR_EXPORT void add_source(Program& program, const char* path, const char* text);
LTR_EXPORT void add_log(Program& program, const char* name, Role role, LogKind kind, LogWhen when, Reduce reduce,
                        bool bar, const Location& at, bool is_whole, const char* each, const char* better);
LTR_EXPORT void add_callback(Program& program, const char* name, std::initializer_list<const char*> hooks,
                             std::initializer_list<int> logs, Callback* (*make)(const Value&, Model&),
                             const Location& at);
LTR_EXPORT void add_schedule(Program& program, const char* name, std::initializer_list<const char*> params,
                             double (*factor)(int64_t, int64_t, const Value&));
LTR_EXPORT void add_topology(Program& program, const char* name, void (*resolve)(Settings&), const Location& at);
LTR_EXPORT void add_block(Program& program, const char* name, bool is_recomputed);
LTR_EXPORT void add_experiment(Program& program, const char* name, const char* data, const char* model,
                               const char* topology, void (*resolve)(Settings&), Data* (*make_data)(Settings&),
                               Model* (*make_model)(Settings&, Data&, Scope), void (*list_callbacks)(Settings&),
                               const Location& at);
/// What the experiment that was added last costs.
LTR_EXPORT void add_costs(Program& program, std::initializer_list<LayerCost> layers, double forward, double backward,
                          std::initializer_list<SizedBy> sized_by);
/// What the experiment that was added last computes.
LTR_EXPORT void add_semantic_hash(Program& program, const char* hash);
using StepFunction = void (*)(Model& model, Context& cx, const Batch& batch, const std::vector<Value>& params);
/// A step of the experiment that was added last; `add_param` a param of the step that was added last.
LTR_EXPORT void add_step(Program& program, const char* name, Role role, StepFunction run,
                         std::initializer_list<int> fields, std::initializer_list<int> logs, bool random,
                         bool minimizes, bool is_manual, const Location& at, bool updates_always);
LTR_EXPORT void add_unplanned(Program& program, const char* reason, const Location& at);
LTR_EXPORT void add_param(Program& program, const char* name, const char* type, const char* initial,
                          const Location& at);
LTR_EXPORT void add_test(Program& program, const char* title, void (*run)(Context&), const Location& at);
LTR_EXPORT void add_obligation(Program& program, const char* text, const char* fate, const Location& at);

}  // namespace ltr::build
