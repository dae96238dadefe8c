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

struct Filling {
  double value = 0;
  Span span;
};

/// What a stream of batches fills a field up with; nothing if it does not, or if only a run knows.
std::optional<Filling> filling_of(const std::string& field, const ExprView& stream, const Program& program) {
  constexpr size_t kPad = 3, kPads = 5;  // of `collate(stream, size, drop_last, pad, lengths, pads, …)`
  const auto* op = stream.get<node::Op>();
  if (op == nullptr || op->op != Id::Collate || op->args.size() <= kPads) return std::nullopt;
  const std::vector<TypeField>& record = program.exprs[op->args[0]].type.fields;
  const auto found = std::ranges::find(record, field, &TypeField::name);
  const bool is_filled = found != record.end() && found->type.is_tensor() && !found->type.dims.empty() &&
                         program.atoms.mentions_unknown(found->type.dims.back().size);
  if (!is_filled) return std::nullopt;
  ExprId value = op->args[kPad];
  const auto* pads = program.exprs[op->args[kPads]].get<node::List>();
  for (const ExprId id : pads != nullptr ? pads->elements : ExprIds()) {
    const auto* pair = program.exprs[id].get<node::Tuple>();
    if (pair == nullptr || pair->elements.size() != 2) return std::nullopt;
    const auto* name = program.exprs[pair->elements[0]].get<node::StrConst>();
    if (name == nullptr) return std::nullopt;
    if (name->text == field) value = pair->elements[1];
  }
  const ExprView& with = program.exprs[value];
  const auto known = with.is<node::NoneConst>() ? std::nullopt : evaluate(with, program);
  if (!known) return std::nullopt;
  return Filling{known->kind == HostValue::Kind::Int ? double(known->whole) : known->real, with.span};
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
      if (!filling || passed.is_open || (passed.number && double(*passed.number) == filling->value)) return;
      const Span place = passed.number ? passed.span : expr.span;
      if (is_reported(cx, diagnostics::Code::W0520, place)) return;
      const std::string with = plain(filling->value);
      diagnostics::Diagnostic diagnostic =
          diag::counted_padding(place, std::string(library::info(op->op).name), field, with);
      diagnostic.label(filling->span, "fills up with this");
      if (filling->value >= 0)
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
