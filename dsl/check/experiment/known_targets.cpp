// W0519: what a step is to predict lies within what it is given, or before it: `(x = s.tokens[.. T], y = s.tokens[.. T])`.

#include <algorithm>
#include <map>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

using library::Id;

/// Some places of one axis of a value.
struct Stretch {
  const ExprView whole;
  int64_t axis = 0;
  Polynomial begin, end, size;
  Span span;

  bool is_whole() const { return begin == Polynomial(0) && end == size; }
};

/// The params of the data that an experiment gives numbers, hparams at their defaults.
AtomTable::Substitution numbers_of(const DataObject& data, const Experiment& experiment, Program& program) {
  AtomTable::Substitution numbers;
  for (size_t i = 0; i < data.object.params.size() && i < experiment.data_arguments.size(); ++i) {
    const auto& size = data.object.params[i].type.value;
    const std::optional<AtomId> atom = size ? size->single_atom() : std::nullopt;
    if (!atom) continue;
    const ExprView given = program.exprs[experiment.data_arguments[i]];
    const auto number =
        evaluate(wire(given, data.object, experiment.data_arguments, experiment, program).expr, program);
    if (number) numbers.emplace(*atom, Polynomial(number->whole));
  }
  return numbers;
}

bool is_at_most(const Polynomial& left, const Polynomial& right) {
  const Polynomial difference = right - left;  // Sizes are not negative.
  return std::ranges::all_of(difference.terms(), [](const auto& term) { return term.second >= 0; });
}

/// The record that a map makes of another one, and what its lines have called by a name.
class Made {
 public:
  Made(const Fn& fn, const Program& program) : program_(program), values_(fn.locals.size()) {
    for (LocalId param = 0; param < fn.param_count; ++param) seen_.insert(param);
    take(fn.body, true);
  }

  /// What the field `name` is made of: several stretches where they are stacked, one beside the other.
  /// `is_target`: it is one stretch, or nothing is known of it.
  std::vector<Stretch> field(const std::string& name, bool is_target = false) const {
    const auto* record = result_ != nullptr ? std::get_if<node::Record>(result_) : nullptr;
    std::vector<Stretch> found;
    for (size_t i = 0; record != nullptr && i < record->values.size(); ++i) {
      if (type_->fields[i].name == name) add(record->values[i], is_target, found);
    }
    return found;
  }

 private:
  /// Of what is assigned twice, or in a branch, the first value may not be the one that is read.
  void take(const Body& body, bool is_sure) {
    for (const Stmt& line : body) {
      const auto* let = line.get<stmt::Let>();
      const auto* end = line.get<stmt::Return>();
      if (let != nullptr)
        values_[let->local] = seen_.insert(let->local).second && is_sure ? std::optional(let->value) : std::nullopt;
      if (end != nullptr && end->value && is_sure) {
        result_ = &program_.exprs[*end->value].node;
        type_ = &program_.exprs[*end->value].type;
      }
      for_each_body(line, [&](const Body& inner) { take(inner, false); });
    }
  }

  void add(ExprId id, bool is_whole, std::vector<Stretch>& found) const {
    const ExprView& expr = program_.exprs[id];
    if (const auto* convert = expr.get<node::Convert>()) return add(convert->value, is_whole, found);
    if (const auto* local = expr.get<node::Local>(); local != nullptr && values_[local->local]) {
      // What is computed anew has its name for its own.
      const size_t before = found.size();
      add(*values_[local->local], is_whole, found);
      if (found.size() != before) return;
    }
    const auto* list = expr.get<node::List>();
    for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) add(list->elements[i], false, found);
    const auto* op = expr.get<node::Op>();
    if (op != nullptr && (op->op == Id::To || (op->op == Id::Stack && !is_whole)))
      return add(op->args[0], is_whole, found);
    const bool is_part = op != nullptr && (op->op == Id::Slice || op->op == Id::Select);
    const ExprView& whole = is_part ? program_.exprs[op->args[0]] : expr;
    if ((!whole.is<node::Local>() && !whole.is<node::RecordField>()) || !whole.type.is_tensor()) return;
    const auto* axis = is_part ? program_.exprs[op->args[1]].get<node::IntConst>() : nullptr;
    const int64_t at = axis != nullptr ? axis->value : 0;
    if ((is_part && axis == nullptr) || at < 0 || size_t(at) >= whole.type.dims.size()) return;
    const Dim& dim = whole.type.dims[size_t(at)];
    if (dim.group != 0) return;
    Stretch one{whole, at, 0, dim.size, dim.size, expr.span};
    if (is_part) {
      const auto begin = place(op->args[2], Polynomial(0), dim.size);
      const auto end = op->op == Id::Slice ? place(op->args[3], dim.size, dim.size)
                       : begin             ? std::optional(*begin + Polynomial(1))
                                           : std::nullopt;
      if (!begin || !end) return;
      one.begin = *begin;
      one.end = *end;
    }
    found.push_back(std::move(one));
  }

  /// Where a bound stands: a negative one counts from the end.
  std::optional<Polynomial> place(ExprId id, const Polynomial& otherwise, const Polynomial& size) const {
    const ExprView& bound = program_.exprs[id];
    if (bound.is<node::NoneConst>()) return otherwise;
    if (!bound.type.value || program_.atoms.mentions_unknown(*bound.type.value)) return std::nullopt;
    const auto& terms = bound.type.value->terms();
    const bool is_negative =
        !terms.empty() && std::ranges::all_of(terms, [](const auto& term) { return term.second < 0; });
    return is_negative ? size + *bound.type.value : *bound.type.value;
  }

  const Program& program_;
  std::vector<std::optional<ExprId>> values_;
  std::set<LocalId> seen_;
  const Node* result_ = nullptr;
  const Type* type_ = nullptr;
};

ExprView rearranged(ExprId id, const Program& program) {
  const ExprView& expr = program.exprs[id];
  if (const auto* convert = expr.get<node::Convert>()) return rearranged(convert->value, program);
  const auto* op = expr.get<node::Op>();
  const bool is_moved = op != nullptr && !op->args.empty() && library::info(op->op).rearranges;
  return is_moved ? rearranged(op->args[0], program) : expr;
}

/// Whether a step takes a part of the param itself: what of it the model sees, the step says.
bool is_cut(LocalId param, const Fn& step, const Program& program) {
  bool found = false;
  for_each_expr(step.body, program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    if (op == nullptr || (op->op != Id::Slice && op->op != Id::Select)) return;
    const auto* of = program.exprs[op->args[0]].get<node::Local>();
    found = found || (of != nullptr && of->local == param);
  });
  return found;
}

/// The params of a step that a loss compares with what is predicted, and which loss.
std::map<LocalId, Id> targets_of(const Fn& step, const Program& program) {
  std::map<LocalId, Id> found;
  for_each_expr(step.body, program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    if (op == nullptr || !library::is_loss(op->op) || op->args.size() < 2) return;
    const ExprView wanted = rearranged(op->args[1], program);
    const auto* local = wanted.get<node::Local>();
    if (local != nullptr && local->local < step.param_count) found.emplace(local->local, op->op);
  });
  return found;
}

bool is_same(const ExprView& left, const ExprView& right, const Program& program) {
  const auto *local = left.get<node::Local>(), *other = right.get<node::Local>();
  if (local != nullptr) return other != nullptr && local->local == other->local;
  const auto *field = left.get<node::RecordField>(), *second = right.get<node::RecordField>();
  return field != nullptr && second != nullptr && field->name == second->name &&
         is_same(program.exprs[field->record], program.exprs[second->record], program);
}

/// How a target lies to an input: "" where it may well be predicted.
std::string known_by(const Stretch& target, const Stretch& input, Id loss, const Program& program) {
  if (!is_same(target.whole, input.whole, program)) return "";
  // What is to come back whole has a code to go through: an autoencoder's. Classes do not.
  const bool is_of_classes = loss == Id::CrossEntropy || loss == Id::Nll;
  if (target.is_whole() && input.is_whole() && !is_of_classes) return "";
  if (input.is_whole() && target.axis != input.axis) return "within";
  if (target.axis != input.axis) return "";
  if (is_at_most(input.begin, target.begin) && is_at_most(target.end, input.end)) return "within";
  const bool is_shifted = target.end - target.begin == input.end - input.begin;
  return is_shifted && is_at_most(target.begin + Polynomial(1), input.begin) ? "before" : "";
}

}  // namespace

const Fn* last_map(const ExprView& stream, const DataObject& data, const Program& program) {
  const ExprView stage = behind_lets(stream, data, program);
  if (const auto* map = stage.get<node::MapStage>()) return &program.fns[map->fn];
  const auto input = input_of(stage, program);
  return input ? last_map(program.exprs[*input], data, program) : nullptr;
}

void check_known_targets(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  const AtomTable::Substitution numbers = numbers_of(data, experiment, cx.program);
  for (const StepBinding& step : experiment.steps) {
    const auto stream = std::ranges::find(data.streams, step.role, &StreamDecl::role);
    if (step.role != kTrainRole || stream == data.streams.end() || stream->value.type.is_error()) continue;
    const Fn* map = last_map(stream->value, data, cx.program);
    if (map == nullptr) continue;
    const Fn& fn = cx.program.fns[step.fn];
    const std::map<LocalId, Id> targets = targets_of(fn, cx.program);
    const Made made(*map, cx.program);
    const auto with = [&](Stretch one) {
      for (Polynomial* bound : {&one.begin, &one.end, &one.size}) *bound = cx.program.atoms.substitute(*bound, numbers);
      return one;
    };
    const auto field_of = [&](LocalId param) {
      return step.fields[param] < 0 ? "" : data.batch.fields[size_t(step.fields[param])].name;
    };
    for (const auto& [param, loss] : targets) {
      const std::string wanted = field_of(param);
      const std::vector<Stretch> target = made.field(wanted, true);
      if (target.size() != 1 || is_reported(cx, diagnostics::Code::W0519, target[0].span)) continue;
      for (LocalId other = 0; other < fn.param_count; ++other) {
        if (targets.contains(other) || is_cut(other, fn, cx.program)) continue;
        for (const Stretch& input : made.field(field_of(other))) {
          const std::string how = known_by(with(target[0]), with(input), loss, cx.program);
          if (how.empty()) continue;
          cx.report(diag::known_target(target[0].span, wanted, how, field_of(other))
                        .label(input.span, "the step is given this"));
          return;
        }
      }
    }
  }
}

}  // namespace ltr::check
