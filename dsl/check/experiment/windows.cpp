#include <algorithm>

#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// How many processes a topology has, if it says so itself: `cuda[8]` on `nodes = 2`.
std::optional<int64_t> ranks_of(const Context& cx, const std::string& name) {
  if (name.empty()) return 1;
  for (const Topology& topology : cx.program.topologies) {
    if (topology.name != name) continue;
    const SettingValue* devices = find_setting(topology.settings, "devices");
    const SettingValue* nodes = find_setting(topology.settings, "nodes");
    const int64_t count = devices == nullptr ? 1 : std::max<int64_t>(read_devices(devices->value.name)->count, 1);
    if (nodes == nullptr) return count;
    const auto value = evaluate(nodes->value, cx.program);
    return value ? std::optional(count * value->whole) : std::nullopt;
  }
  return std::nullopt;
}

/// The last call of a stage in the chain of a stream.
const Expr* find_stage(const Expr& stream, library::Id stage) {
  if (stream.op == stage) return &stream;
  const bool goes_on =
      stream.kind == ExprKind::Op || stream.kind == ExprKind::MapStage || stream.kind == ExprKind::FilterStage;
  return goes_on && !stream.args.empty() ? find_stage(stream.args[0], stage) : nullptr;
}

void count_updates(const Body& body, std::map<std::string, std::vector<Span>>& updates) {
  for (const Stmt& stmt : body) {
    if (stmt.kind == StmtKind::Minimize && stmt.values.size() > 1)
      updates[stmt.values[1].name].push_back(stmt.span);
    for (const Body& inner : stmt.bodies) count_updates(inner, updates);
  }
}

/// The setting that makes windows of several batches, if there is one.
const SettingValue* window_setting(const Context& cx, const Experiment& experiment) {
  for (const SettingValue& setting : experiment.trainer) {
    if (setting.path == "global_batch") return &setting;
    if (setting.path != "accumulate") continue;
    const auto value = evaluate(setting.value, cx.program);
    if (!value || value->whole > 1) return &setting;
  }
  return nullptr;
}

void check_step(Context& cx, const Experiment& experiment) {
  const SettingValue* window = window_setting(cx, experiment);
  if (window == nullptr) return;
  for (const StepBinding& step : experiment.steps) {
    if (step.role != "train") continue;
    const Fn& fn = cx.program.fns[step.fn];
    if (fn.is_manual) {
      cx.report(diag::accumulate_manual(window->span, window->path)
                    .label(fn.span, "`manual` here")
                    .help("take `{}` away, or `manual`", window->path));
      continue;
    }
    std::map<std::string, std::vector<Span>> updates;
    count_updates(fn.body, updates);
    for (const auto& [optimizer, places] : updates) {
      if (places.size() < 2) continue;
      cx.report(diag::accumulate_twice(window->span, window->path, optimizer)
                    .label(places[0], "one")
                    .label(places[1], "and another one")
                    .note("a window of several batches ends in one update of each optimizer"));
    }
  }
}

void check_endless(Context& cx, const Experiment& experiment, const StreamDecl& stream) {
  const Expr* repeat = find_stage(stream.value, library::Id::RepeatStream);
  const bool is_endless =
      repeat != nullptr && repeat->args.size() > 1 && repeat->args[1].kind == ExprKind::NoneConst;
  if (!is_endless || find_setting(experiment.trainer, "steps_per_epoch") != nullptr) return;
  Span span = experiment.span;
  for (const SettingValue& setting : experiment.trainer) {
    if (setting.path == "epochs" || setting.path == "steps" || setting.path == "max_time") {
      span = setting.span;
      break;
    }
  }
  cx.report(diag::endless_epoch(span, stream.role)
                .label(repeat->span, "it goes on for ever")
                .help("say how long an epoch is: `steps_per_epoch = 1000`"));
}

void check_global_batch(Context& cx, const Experiment& experiment, const TrainBatch& batch) {
  const SettingValue* global = find_setting(experiment.trainer, "global_batch");
  const auto ranks = ranks_of(cx, experiment.topology);
  if (global == nullptr || !ranks) return;
  const Object none;
  const Wired wanted = wire(global->value, none, {}, experiment, cx.program);
  const auto total = evaluate(wanted.expr, cx.program);
  const int64_t row = batch.records * *ranks;
  if (!total || row == 0 || total->whole % row == 0) return;
  // An experiment that amends this one has the setting from it.
  if (is_reported(cx, diagnostics::Code::E0511, global->value.span)) return;
  diagnostics::Diagnostic diagnostic = diag::global_batch_uneven(
      global->value.span, std::to_string(total->whole), std::to_string(row));
  diagnostic.label(batch.size.given, "batches of {} records", std::to_string(batch.records));
  if (*ranks > 1) diagnostic.note("on {} devices at a time", std::to_string(*ranks));
  note_hparams(diagnostic, batch.size, cx);
  note_hparams(diagnostic, wanted, cx);
  cx.report(std::move(diagnostic));
}

/// `weigh = count("tokens")`: a field of the batch.
void check_counted(Context& cx, const Experiment& experiment) {
  const SettingValue* weigh = find_setting(experiment.trainer, "weigh");
  if (weigh == nullptr || weigh->value.op != library::Id::CountOfField) return;
  const Expr& field = weigh->value.args[0];
  const DataObject& data = cx.program.datas[experiment.data];
  if (field.kind != ExprKind::StrConst || data.object.is_damaged) return;
  std::vector<std::string> known;
  for (const TypeField& one : data.batch.fields) known.push_back(one.name);
  if (std::find(known.begin(), known.end(), field.name) != known.end() ||
      is_reported(cx, diagnostics::Code::E0308, field.span))
    return;
  diagnostics::Diagnostic diagnostic = diag::unknown_field(field.span, "the batch", field.name);
  if (!did_you_mean(diagnostic, field.name, field.span, known)) note_known(diagnostic, known);
  cx.report(std::move(diagnostic));
}

}  // namespace

std::optional<TrainBatch> find_train_batch(const Program& program, const Experiment& experiment) {
  const DataObject& data = program.datas[experiment.data];
  for (const StreamDecl& stream : data.streams) {
    if (stream.role != "train" || stream.value.type.is_error()) continue;
    const Expr* collate = find_stage(stream.value, library::Id::Collate);
    if (collate == nullptr || collate->args.size() < 2) continue;
    Wired size = wire(collate->args[1], data.object, experiment.data_arguments, experiment, program);
    const auto records = evaluate(size.expr, program);
    if (records && records->whole >= 1) return TrainBatch{records->whole, std::move(size)};
  }
  return std::nullopt;
}

void check_windows(Context& cx, const Experiment& experiment) {
  check_step(cx, experiment);
  check_counted(cx, experiment);
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) {
    if (stream.role == "train" && !stream.value.type.is_error())
      check_endless(cx, experiment, stream);
  }
  if (const auto batch = find_train_batch(cx.program, experiment))
    check_global_batch(cx, experiment, *batch);
}

}  // namespace ltr::check
