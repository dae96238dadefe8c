// W0314 across the batch: a map gives numbers from 0 to 1 of an image of bytes, and a step divides them by 255 once more.

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// What a local of a function is given, if that is one value on every way.
std::optional<ExprId> only_value(LocalId local, const Body& body, bool is_sure, size_t& count) {
  std::optional<ExprId> value;
  for (const Stmt& line : body) {
    const auto* let = line.get<stmt::Let>();
    if (let != nullptr && let->local == local) {
      ++count;
      if (is_sure) value = let->value;
    }
    for_each_body(line, [&](const Body& inner) {
      if (const auto within = only_value(local, inner, false, count)) value = within;
    });
  }
  return count == 1 ? value : std::nullopt;
}

}  // namespace

ExprView behind_names(ExprId id, const Fn& fn, const Program& program) {
  const ExprView& expr = program.exprs[id];
  if (const auto* convert = expr.get<node::Convert>()) return behind_names(convert->value, fn, program);
  const auto* local = expr.get<node::Local>();
  if (local == nullptr || local->local < fn.param_count) return expr;
  size_t count = 0;
  const auto value = only_value(local->local, fn.body, true, count);
  return value ? behind_names(*value, fn, program) : expr;
}

namespace {

bool divides_by_255(const node::Op& op, const Program& program) {
  if (op.op != library::Id::Div || op.args.size() != 2) return false;
  const auto by = evaluate(program.exprs[op.args[1]], program);
  return by && (by->real == 255 || by->whole == 255);
}

/// The op that makes numbers from 0 to 1 of bytes for a field of the record that a map gives; nothing if none does.
std::optional<ExprView> scaled_field(const std::string& field, const Fn& map, const Program& program) {
  const auto* end = map.body.empty() ? nullptr : map.body.back().get<stmt::Return>();
  if (end == nullptr || !end->value) return std::nullopt;
  const ExprView made = behind_names(*end->value, map, program);
  const auto* record = made.get<node::Record>();
  for (size_t i = 0; record != nullptr && i < record->values.size(); ++i) {
    if (made.type.fields[i].name != field) continue;
    const ExprView value = behind_names(record->values[i], map, program);
    const auto* op = value.get<node::Op>();
    const bool scales = op != nullptr && (op->op == library::Id::ToFloat || op->op == library::Id::Normalize);
    if (scales && program.exprs[op->args[0]].type.element == Element::U8) return value;
    if (op != nullptr && divides_by_255(*op, program)) return value;
  }
  return std::nullopt;
}

/// The function that a call runs, and what it is given; null if it is no such call.
std::pair<const Fn*, const ExprIds*> called(const ExprView& expr, const Program& program) {
  if (const auto* call = expr.get<node::CallFn>()) return {&program.fns[call->fn], &call->args};
  if (const auto* call = expr.get<node::CallMethod>()) return {&program.fns[call->fn], &call->args};
  return {};
}

/// Where a function, or one that it hands the param on to, divides it by 255 before it gives it another value.
std::optional<Span> divided(LocalId param, const Fn& fn, const Program& program) {
  std::optional<Span> found;
  const auto look = [&](const ExprView& expr) {
    if (found) return;
    const auto is_param = [&](ExprId id) {
      const auto* local = program.exprs[id].get<node::Local>();
      return local != nullptr && local->local == param;
    };
    const auto* op = expr.get<node::Op>();
    if (op != nullptr && divides_by_255(*op, program) && is_param(op->args[0])) found = expr.span;
    const auto [callee, args] = called(expr, program);
    for (size_t i = 0; callee != nullptr && !found && i < args->size() && i < callee->param_count; ++i) {
      if (is_param((*args)[i])) found = divided(LocalId(i), *callee, program);
    }
  };
  for (const Stmt& line : fn.body) {
    for_each_expr({line}, program, look);
    const auto* let = line.get<stmt::Let>();
    if (found || (let != nullptr && let->local == param)) return found;
  }
  return found;
}

}  // namespace

void check_scaled_batches(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  for (const StepBinding& step : experiment.steps) {
    const auto stream = std::ranges::find(data.streams, step.role, &StreamDecl::role);
    if (stream == data.streams.end() || stream->value.type.is_error()) continue;
    const Fn* map = last_map(stream->value, data, cx.program);
    if (map == nullptr) continue;
    const Fn& fn = cx.program.fns[step.fn];
    for (LocalId param = 0; param < fn.param_count; ++param) {
      if (step.fields[param] < 0) continue;
      const auto scaled = scaled_field(data.batch.fields[size_t(step.fields[param])].name, *map, cx.program);
      const auto place = scaled ? divided(param, fn, cx.program) : std::nullopt;
      if (!place || is_reported(cx, diagnostics::Code::W0314, *place)) continue;
      const bool is_by_hand = scaled->get<node::Op>()->op == library::Id::Div;
      const std::string by(is_by_hand ? "map" : library::info(scaled->get<node::Op>()->op).name);
      diagnostics::Diagnostic diagnostic = diag::scaled_twice(*place, by);
      diagnostic.label(scaled->span, "made here");
      if (!is_by_hand) diagnostic.note("what it gives of `u8` lies between 0 and 1");
      cx.report(std::move(diagnostic.help("leave the division out")));
    }
  }
}

}  // namespace ltr::check
