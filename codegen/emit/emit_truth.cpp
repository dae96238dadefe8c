// Conditions on counts of the run, `global_step % 10 == 0`: a plan holds while they stay as they are, whatever the
// counts are. They are written as functions of the run and the object alone, which a plan can ask again.

#include <algorithm>

#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::OpKind;
using ir::TypeKind;
using ir::ValueId;

namespace {

/// What changes while a run goes on, and is read where a recorder may listen.
constexpr std::string_view kCounts[] = {"epoch", "global_step", "batch_index", "batch_size"};
/// Values that are read twice are written twice; what would grow beyond this is no such condition.
constexpr int kMostParts = 64;

}  // namespace

bool FunctionEmitter::is_count(const ir::Op& op) const {
  return op.kind == OpKind::ReadContext && takes_context(function_.role) &&
         std::ranges::find(kCounts, op.name) != std::end(kCounts);
}

bool FunctionEmitter::hangs_on_counts(ValueId id) const {
  int left = kMostParts;
  bool has_count = false;
  return is_of_counts(id, left, has_count) && has_count;
}

bool FunctionEmitter::is_of_counts(ValueId id, int& left, bool& has_count) const {
  if (--left < 0) return false;
  if (function_.values[id].constant) return true;
  const ir::Op* op = definition(id);
  if (op == nullptr || !type(id).is_host_number()) return false;
  has_count = has_count || is_count(*op);
  if (is_count(*op) || op->kind == OpKind::ReadHparam) return true;
  if (op->kind == OpKind::Member) return self_ && op->operands[0] == *self_;
  return (op->kind == OpKind::HostOp || op->kind == OpKind::Convert) &&
         std::ranges::all_of(op->operands, [&](ValueId operand) { return is_of_counts(operand, left, has_count); });
}

// Written out from the counts on: of the values that stand around it reads none.
cpp::Expr FunctionEmitter::from_counts(ValueId id) {
  if (function_.values[id].constant) return use(id);
  const ir::Op& op = *definition(id);
  if (is_count(op)) return cpp::dot(cpp::name("cx"), op.name);
  if (op.kind == OpKind::Member) return value(op);
  for (const ValueId operand : op.operands) {
    if (!function_.values[operand].constant) values_[operand] = from_counts(operand);
  }
  return value(op);
}

std::optional<cpp::Expr> FunctionEmitter::truth(const ir::Op& op) {
  const ValueId result = op.results[0];
  if (is_in_truth_ || !type(result).is(TypeKind::Bool) || !hangs_on_counts(result)) return std::nullopt;
  const auto outside = values_;
  is_in_truth_ = true;
  cpp::Expr holds = from_counts(result);
  is_in_truth_ = false;
  values_ = outside;
  const cpp::Type context = cpp::const_reference(cpp::plain("ltr::Context"));
  cpp::Body body;
  body.push_back(cpp::give_back(std::move(holds)));
  cpp::Expr function = cpp::lambda({{context, "cx"}}, cpp::plain("bool"), std::move(body), self_ ? "this" : "");
  return cpp::call("ltr::read_truth", {cpp::name("cx"), cpp::integer(cx_.truths++), cx_.location(op.loc),
                                       cpp::name(self_ ? "this" : "nullptr"), std::move(function)});
}

}  // namespace ltr::emit
