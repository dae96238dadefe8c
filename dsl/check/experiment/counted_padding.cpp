// W0520: a loss over classes, against what `collate` fills its targets up with.

#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

using library::Id;

/// The arguments of `cross_entropy` and `nll` that say what is counted.
struct Counted {
  static constexpr size_t kWeight = 2, kIgnored = 3;
  size_t reduction = 0;
};

std::optional<Counted> counted_by(Id loss) {
  if (loss == Id::CrossEntropy) return Counted{.reduction = 5};
  if (loss == Id::Nll) return Counted{.reduction = 4};
  return std::nullopt;
}

/// The param of a step that holds all places of a target; nothing where it may be a part of them.
std::optional<LocalId> whole_param(ExprId id, const Fn& step, const Program& program) {
  const ExprView expr = behind_names(id, step, program);
  if (const auto* local = expr.get<node::Local>())
    return local->local < step.param_count ? std::optional(local->local) : std::nullopt;
  const auto* op = expr.get<node::Op>();
  if (op == nullptr || op->args.empty()) return std::nullopt;
  // Of `ids[:, 1 ..]`, too, the end is there.
  const bool goes_on = op->op == Id::Slice && program.exprs[op->args[3]].is<node::NoneConst>();
  constexpr std::array kWhole = {Id::Reshape, Id::Flatten,   Id::Permute, Id::Transpose,
                                 Id::Squeeze, Id::Unsqueeze, Id::To,      Id::Clone};
  const bool is_whole = goes_on || std::ranges::find(kWhole, op->op) != kWhole.end();
  return is_whole ? whole_param(op->args[0], step, program) : std::nullopt;
}

/// The number that a loss passes over, if it says one that is known; `is_open` where only a run knows what it counts.
struct Passed {
  std::optional<int64_t> number;
  Span span;
  bool is_open = false;
};

Passed passed_by(const node::Op& loss, const Counted& places, const Program& program) {
  Passed passed;
  const ExprView &weight = program.exprs[loss.args[Counted::kWeight]],
                 &ignored = program.exprs[loss.args[Counted::kIgnored]];
  const auto* reduction = program.exprs[loss.args[places.reduction]].get<node::Symbol>();
  passed.is_open = !weight.is<node::NoneConst>() || reduction == nullptr || reduction->text == "none";
  if (ignored.is<node::NoneConst>()) return passed;
  const auto known = evaluate(ignored, program);
  if (known && known->kind == HostValue::Kind::Int) passed.number = known->whole;
  passed.is_open = passed.is_open || !passed.number;
  passed.span = ignored.span;
  return passed;
}

}  // namespace

void check_counted_padding(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  for (const StepBinding& step : experiment.steps) {
    const auto stream = std::ranges::find(data.streams, step.role, &StreamDecl::role);
    if (stream == data.streams.end() || stream->value.type.is_error()) continue;
    const ExprView batches = behind_lets(stream->value, data, cx.program);
    const Fn& fn = cx.program.fns[step.fn];
    for_each_expr(fn.body, cx.program, [&](const ExprView& expr) {
      const auto* op = expr.get<node::Op>();
      const auto places = op != nullptr ? counted_by(op->op) : std::nullopt;
      if (!places || op->args.size() <= places->reduction) return;
      const auto param = whole_param(op->args[1], fn, cx.program);
      if (!param || step.fields[*param] < 0) return;
      const std::string& field = data.batch.fields[size_t(step.fields[*param])].name;
      const auto filling = filling_of(field, batches, cx.program);
      const Passed passed = passed_by(*op, *places, cx.program);
      if (!filling || !filling->value || passed.is_open) return;
      if (passed.number && double(*passed.number) == *filling->value) return;
      const Span place = passed.number ? passed.span : expr.span;
      if (is_reported(cx, diagnostics::Code::W0520, place)) return;
      const std::string with = short_text(*filling->value);
      diagnostics::Diagnostic diagnostic =
          diag::counted_padding(place, std::string(library::info(op->op).name), field, with);
      diagnostic.label(filling->span, "fills up with this");
      if (*filling->value >= 0)
        diagnostic
            .help("`pads = [(\"{}\", -100.0)]` fills up with no class, and `ignore_index = -100` passes over it", field)
            .help("or `ignore_index = {}`, where that is no class", with);
      else
        diagnostic.help("`ignore_index = {}` passes over them", with);
      cx.report(std::move(diagnostic));
    });
  }
}

}  // namespace ltr::check
