#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/repeated_steps.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// How many processes a topology has, if it says so itself: `cuda[8]` on `nodes = 2`.
std::optional<int64_t> ranks_of(const Context& cx, const std::string& name) {
  if (name.empty()) return 1;
  for (const Topology& topology : cx.program.topologies) {
    if (topology.name == name) return ranks_of(topology, cx);
  }
  return std::nullopt;
}

/// The last call of a stage in the chain of a stream.
std::optional<ExprView> find_stage(const ExprView& expr, library::Id stage, const DataObject& data,
                                   const Program& program) {
  const ExprView stream = behind_lets(expr, data, program);
  if (stage_of(stream) == stage) return stream;
  const auto input = input_of(stream, program);
  return input ? find_stage(program.exprs[*input], stage, data, program) : std::nullopt;
}

/// The updates of one optimizer in a step.
struct Updates {
  std::vector<Span> places;
  bool is_repeated = false;  ///< the first of them, by the loop that it stands in
};

class UpdateCount {
 public:
  UpdateCount(const Experiment& experiment, Context& cx) : experiment_(experiment), cx_(cx) {}

  void add(const Body& body, bool is_repeated = false) {
    for (const Stmt& stmt : body) {
      if (const auto* update = stmt.get<stmt::Minimize>()) {
        const auto* optimizer = cx_.at(update->optimizer).get<node::Member>();
        Updates& updates = by_optimizer[optimizer != nullptr ? optimizer->name : ""];
        updates.is_repeated = updates.is_repeated || (updates.places.empty() && is_repeated);
        updates.places.push_back(stmt.span);
      }
      const auto* loop = stmt.get<stmt::For>();
      const bool is_loop = loop != nullptr && has_several_rounds(*loop);
      for_each_body(stmt, [&](const Body& inner) { add(inner, is_repeated || is_loop); });
    }
  }

  std::map<std::string, Updates> by_optimizer;  ///< by its name

 private:
  bool has_several_rounds(const stmt::For& loop) const {
    const auto from = bound(loop.from), to = bound(loop.to);
    return from && to && *to - *from > 1;
  }
  /// Where the experiment tells; what a function computes itself is not known.
  std::optional<int64_t> bound(ExprId id) const {
    const auto written = evaluate(cx_.at(id), cx_.program);
    const bool is_given = cx_.at(id).is<node::Member>() || cx_.at(id).is<node::Hparam>();
    if (!is_given) return written ? std::optional(written->whole) : std::nullopt;
    const Object& model = cx_.program.models[experiment_.model];
    const Wired wired = wire(cx_.at(id), model, experiment_.model_arguments, experiment_, cx_.program);
    const auto value = evaluate(wired.expr, cx_.program);
    return value ? std::optional(value->whole) : std::nullopt;
  }

  const Experiment& experiment_;
  Context& cx_;
};

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
    if (step.role != kTrainRole) continue;
    const Fn& fn = cx.program.fns[step.fn];
    if (fn.is_manual) {
      cx.report(diag::accumulate_manual(window->span, window->path)
                    .label(fn.span, "`manual` here")
                    .help("take `{}` away, or `manual`", window->path));
      continue;
    }
    UpdateCount count(experiment, cx);
    count.add(fn.body);
    for (const auto& [optimizer, updates] : count.by_optimizer) {
      if (updates.places.size() < 2 && !updates.is_repeated) continue;
      diagnostics::Diagnostic diagnostic = diag::accumulate_twice(window->span, window->path, optimizer);
      if (updates.is_repeated)
        diagnostic.label(updates.places[0], "one in each round of the loop");
      else
        diagnostic.label(updates.places[0], "one").label(updates.places[1], "and another one");
      cx.report(std::move(diagnostic.note("a window of several batches ends in one update of each optimizer")));
    }
  }
}

/// E0513: of training the length of an epoch is wanted, of evaluation how much of the stream is looked at.
void check_endless(Context& cx, const Experiment& experiment, const StreamDecl& stream) {
  const bool is_train = stream.role == kTrainRole;
  const std::string length = is_train ? "steps_per_epoch" : "limit_" + stream.role;
  const auto repeat = find_endless(stream.value, cx.program.datas[experiment.data], cx.program);
  if (!repeat || find_setting(experiment.trainer, length) != nullptr) return;
  if (!is_train) {
    const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
    cx.report(diag::endless_epoch(repeat->span, name)
                  .help("take `repeat` away, or say how many batches are looked at: `{} = 100`", length));
    return;
  }
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
  diagnostics::Diagnostic diagnostic =
      diag::global_batch_uneven(global->value.span, std::to_string(total->whole), std::to_string(row));
  diagnostic.label(batch.size.given, "batches of {} records", std::to_string(batch.records));
  if (*ranks > 1) diagnostic.note("on {} devices at a time", std::to_string(*ranks));
  note_hparams(diagnostic, batch.size, cx);
  note_hparams(diagnostic, wanted, cx);
  cx.report(std::move(diagnostic));
}

/// An epoch of so many updates has as many batches, where each update has as many.
void check_epoch_length(Context& cx, const Experiment& experiment) {
  const SettingValue* length = find_setting(experiment.trainer, "steps_per_epoch");
  const SettingValue* accumulate = find_setting(experiment.trainer, "accumulate");
  if (length == nullptr || accumulate == nullptr || !accumulate->value.is<node::Call>()) return;
  if (is_reported(cx, diagnostics::Code::E0309, accumulate->value.span)) return;
  cx.report(diag::wrong_argument(accumulate->value.span,
                                 "`steps_per_epoch` counts updates, and their batches change from epoch to epoch here")
                .label(length->span, "the length of an epoch")
                .help("take `steps_per_epoch` away, or say one number for `accumulate`"));
}

/// `weigh = count("tokens")`: a field of the batch.
void check_counted(Context& cx, const Experiment& experiment) {
  const SettingValue* weigh = find_setting(experiment.trainer, "weigh");
  const auto* count = weigh != nullptr ? weigh->value.get<node::Call>() : nullptr;
  if (count == nullptr || count->op != library::Id::CountOfField) return;
  const ExprView field = cx.at(count->args[0].value);
  const auto* name = field.get<node::StrConst>();
  const DataObject& data = cx.program.datas[experiment.data];
  if (name == nullptr || data.object.is_damaged) return;
  std::vector<std::string> known;
  for (const TypeField& one : data.batch.fields) {
    known.push_back(one.name);
    if (one.name != name->text) continue;
    const bool has_ints = one.type.is_tensor() && !is_floating(one.type.element) && one.type.element != Element::Bool;
    if (has_ints || one.type.is_error() || is_reported(cx, diagnostics::Code::E0313, field.span)) return;
    cx.report(
        diag::wrong_type(field.span, "`count` counts the elements of an integer field that are not `ignore`, and `" +
                                         name->text + "` is " + cx.text(one.type)));
    return;
  }
  if (is_reported(cx, diagnostics::Code::E0308, field.span)) return;
  diagnostics::Diagnostic diagnostic = diag::unknown_field(field.span, "the batch", name->text);
  if (!did_you_mean(diagnostic, name->text, field.span, known)) note_known(diagnostic, known);
  cx.report(std::move(diagnostic));
}

}  // namespace

std::optional<TrainBatch> find_train_batch(Program& program, const Experiment& experiment) {
  const DataObject& data = program.datas[experiment.data];
  for (const StreamDecl& stream : data.streams) {
    if (stream.role != kTrainRole || stream.value.type.is_error()) continue;
    const auto stage = find_stage(stream.value, library::Id::Collate, data, program);
    const auto* collate = stage ? stage->get<node::Op>() : nullptr;
    if (collate == nullptr || collate->args.size() < 2) continue;
    Wired size = wire(program.exprs[collate->args[1]], data.object, experiment.data_arguments, experiment, program);
    const auto records = evaluate(size.expr, program);
    if (records && records->whole >= 1) return TrainBatch{records->whole, std::move(size)};
  }
  return std::nullopt;
}

void check_windows(Context& cx, const Experiment& experiment) {
  check_step(cx, experiment);
  check_repeating_run(cx, experiment, window_setting(cx, experiment));
  check_counted(cx, experiment);
  check_epoch_length(cx, experiment);
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) {
    if (!stream.value.type.is_error()) check_endless(cx, experiment, stream);
  }
  if (const auto batch = find_train_batch(cx.program, experiment)) check_global_batch(cx, experiment, *batch);
}

}  // namespace ltr::check
