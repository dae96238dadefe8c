#include "ltr/build.h"

#include "ltr/streams.h"

namespace ltr::build {
namespace {

/// Moves what `list` points to out, and leaves it empty.
template <class T>
T taken(T* list) {
  return std::exchange(*list, T());
}

}  // namespace

Arguments::Arguments() : rows_(new std::vector<Argument>()) {}
Arguments::~Arguments() { delete rows_; }
std::vector<Argument> Arguments::take() { return taken(rows_); }

Arguments& Arguments::add(const char* name, const char* type, const Location& at, const Value& value) {
  rows_->push_back({name, value, type, at});
  return *this;
}

Arguments& Arguments::add(const char* name, const char* type, const Location& at, int64_t value) {
  return add(name, type, at, Value(value));
}
Arguments& Arguments::add(const char* name, const char* type, const Location& at, double value) {
  return add(name, type, at, Value(value));
}
Arguments& Arguments::add(const char* name, const char* type, const Location& at, bool value) {
  return add(name, type, at, Value(value));
}
Arguments& Arguments::add(const char* name, const char* type, const Location& at, const char* value) {
  return add(name, type, at, Value(value));
}
Arguments& Arguments::add(const char* name, const char* type, const Location& at, const Str& value) {
  return add(name, type, at, Value(value));
}
Arguments& Arguments::none(const char* name, const char* type, const Location& at) {
  return add(name, type, at, Value());
}

Arguments& Arguments::symbol(const char* name, const char* type, const Location& at, const char* value) {
  return add(name, type, at, Value::symbol(value));
}

Arguments& Arguments::series(const char* name, const char* type, const Location& at, const char* value) {
  return add(name, type, at, Value::series(value));
}

Arguments& Arguments::steps(const char* name, const char* type, const Location& at, double count) {
  return add(name, type, at, Value::steps(count));
}
Arguments& Arguments::epochs(const char* name, const char* type, const Location& at, double count) {
  return add(name, type, at, Value::epochs(count));
}
Arguments& Arguments::seconds(const char* name, const char* type, const Location& at, double count) {
  return add(name, type, at, Value::seconds(count));
}
Arguments& Arguments::bytes(const char* name, const char* type, const Location& at, int64_t count) {
  return add(name, type, at, Value::bytes(count));
}

Arguments& Arguments::call(const char* name, const char* type, const Location& at, const char* callee,
                           Arguments& arguments) {
  return add(name, type, at, Value::call(callee, arguments.take(), at));
}

void Arguments::declare(Settings& settings) {
  for (const Argument& row : take()) settings.get(row.name, row.type, row.value, row.location);
}

Value Arguments::get(Settings& settings) {
  const std::vector<Argument> rows = take();
  return settings.get(rows[0].name, rows[0].type, rows[0].value, rows[0].location);
}

int64_t Arguments::get_int(Settings& settings) { return get(settings).as_int(); }
double Arguments::get_float(Settings& settings) { return get(settings).as_float(); }
bool Arguments::get_bool(Settings& settings) { return get(settings).as_bool(); }
Str Arguments::get_str(Settings& settings) { return get(settings).as_str(); }

Value Arguments::hparam(Settings& settings, const HparamInfo& info) {
  const std::vector<Argument> rows = take();
  return settings.hparam(info, rows[0].value, rows.size() > 1 ? &rows[1].value : nullptr);
}

int64_t Arguments::hparam_int(Settings& settings, const HparamInfo& info) { return hparam(settings, info).as_int(); }
double Arguments::hparam_float(Settings& settings, const HparamInfo& info) { return hparam(settings, info).as_float(); }
bool Arguments::hparam_bool(Settings& settings, const HparamInfo& info) { return hparam(settings, info).as_bool(); }
Str Arguments::hparam_str(Settings& settings, const HparamInfo& info) { return hparam(settings, info).as_str(); }

Value Arguments::as_call(const char* callee, const Location& at) { return Value::call(callee, take(), at); }

void Arguments::list(Settings& settings, const char* section, const char* callee, const Location& at) {
  settings.call(section, as_call(callee, at));
}

OptimizerBuilder::OptimizerBuilder() : groups_(new std::vector<Group>()) {}
OptimizerBuilder::~OptimizerBuilder() { delete groups_; }

OptimizerBuilder& OptimizerBuilder::group(const char* pattern, Arguments& group_settings, const Location& at) {
  groups_->push_back({pattern, group_settings.take(), at});
  return *this;
}

Optimizer* OptimizerBuilder::make(const Scope& scope, const char* name, const char* callee, const Location& callee_at,
                                  const Weights& weights, const Location& at) {
  return scope.optimizer(name, rule.as_call(callee, callee_at), weights, settings.take(), taken(groups_), at);
}

Fields::Fields() : schema_(new Schema()) {}
Fields::~Fields() { delete schema_; }
Schema Fields::take() { return taken(schema_); }

Fields& Fields::add(const char* name, DType dtype, const char* host, std::initializer_list<int64_t> dims,
                    FieldForm form) {
  schema_->push_back({name, dtype, Ints(dims), host, form});
  return *this;
}

Stream map(const Stream& stream, const Data* self, MapFunction run, Fields& out, bool random, const char* name,
           const Option<int64_t>& skip_bad, const Location& at) {
  return ltr::map(stream, self, {run, out.take(), random, name, at}, skip_bad);
}

Stream filter(const Stream& stream, const Data* self, bool (*keeps)(const Data& self, const Record& in),
              const char* name, const Location& at) {
  return ltr::filter(stream, self, {keeps, name, at});
}

void set_batch(Data& data, Fields& fields) { data.batch = fields.take(); }

void add_stream(Data& data, Role role, const char* name, const Stream& stream, const Location& at) {
  data.streams.push_back({role, name, stream, at});
}

void add_metric(Model& model, const char* name, Metric& (*of)(Model& model, int64_t stream)) {
  model.metrics.push_back({name, of});
}

Program& program(const char* name, int edition, const char* source_hash, const char* compiler, const char* folder) {
  static Program program;
  program.name = name;
  program.edition = edition;
  program.source_hash = source_hash;
  program.compiler = compiler;
  program.folder = folder;
  return program;
}

void add_source(Program& program, const char* path, const char* text) { program.sources.push_back({path, text}); }

void add_log(Program& program, const char* name, Role role, LogKind kind, LogWhen when, Reduce reduce, bool bar,
             const Location& at, bool is_whole, const char* each, const char* better) {
  program.logs.push_back({name, role, kind, when, reduce, bar, at, is_whole, each, better});
}

void add_callback(Program& program, const char* name, std::initializer_list<const char*> hooks,
                  std::initializer_list<int> logs, Callback* (*make)(const Value&, Model&), const Location& at) {
  program.callbacks.push_back({name, hooks, logs, make, at});
}

void add_schedule(Program& program, const char* name, std::initializer_list<const char*> params,
                  double (*factor)(int64_t, int64_t, const Value&)) {
  program.schedules.push_back({name, params, factor});
}

void add_topology(Program& program, const char* name, void (*resolve)(Settings&), const Location& at) {
  program.topologies.push_back({name, resolve, at});
}

void add_block(Program& program, const char* name, bool is_recomputed) {
  program.blocks.push_back({name, is_recomputed});
}

void add_experiment(Program& program, const char* name, const char* data, const char* model, const char* topology,
                    void (*resolve)(Settings&), Data* (*make_data)(Settings&),
                    Model* (*make_model)(Settings&, Data&, Scope), void (*list_callbacks)(Settings&),
                    const Location& at) {
  program.experiments.push_back({.name = name,
                                 .data = data,
                                 .model = model,
                                 .topology = topology,
                                 .resolve = resolve,
                                 .make_data = make_data,
                                 .make_model = make_model,
                                 .list_callbacks = list_callbacks,
                                 .location = at});
}

void add_costs(Program& program, std::initializer_list<LayerCost> layers, double forward, double backward,
               std::initializer_list<SizedBy> sized_by) {
  ExperimentInfo& experiment = program.experiments.back();
  experiment.layers = layers;
  experiment.forward_flops = forward;
  experiment.backward_flops = backward;
  experiment.sized_by = sized_by;
}

void add_semantic_hash(Program& program, const char* hash) { program.experiments.back().semantic_hash = hash; }

void add_step(Program& program, const char* name, Role role, StepFunction run, std::initializer_list<int> fields,
              std::initializer_list<int> logs, bool random, bool minimizes, bool is_manual, const Location& at,
              bool updates_always) {
  program.experiments.back().steps.push_back(
      {name, role, run, fields, {}, logs, random, minimizes, is_manual, at, updates_always});
}

void add_unplanned(Program& program, const char* reason, const Location& at) {
  StepInfo& step = program.experiments.back().steps.back();
  step.unplanned = reason;
  step.unplanned_at = at;
}

void add_param(Program& program, const char* name, const char* type, const char* initial, const Location& at) {
  program.experiments.back().steps.back().params.push_back({name, type, initial, at});
}

void add_test(Program& program, const char* title, void (*run)(Context&), const Location& at) {
  program.tests.push_back({title, run, at});
}

void add_obligation(Program& program, const char* text, const char* fate, const Location& at) {
  program.obligations.push_back({text, fate, at});
}

}  // namespace ltr::build
