#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::OpKind;
using ir::Role;
using ir::TypeKind;
using ir::ValueId;

/// The statements of a region, in a body of their own.
cpp::Body FunctionEmitter::collect(const ir::Region& region) {
  cpp::Body inner;
  cpp::Body* const outer = body_;
  const auto owned = owned_;
  owned_.clear();  // A variable of an outer region may be read again after this one.
  body_ = &inner;
  ++depth_;
  last_at_ = {};
  this->region(region);
  --depth_;
  last_at_ = {};
  body_ = outer;
  owned_ = owned;
  return inner;
}

/// One variable per result; regions assign to it.
void FunctionEmitter::declare_results(const ir::Op& op, size_t first_initial, bool has_initial) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId result = op.results[i];
    const cpp::Type cpp_type = cx_.type(type(result));
    const std::string name = name_of(result);
    if (has_initial) {
      push(cpp::variable(cpp_type, name, use_as(op.operands[first_initial + i], type(result))), op.loc);
    } else {
      push(cpp::variable(cpp_type, name, cpp::braces({})), op.loc);
    }
    values_[result] = cpp::name(name);
  }
}

void FunctionEmitter::if_op(const ir::Op& op) {
  declare_results(op, 0, false);
  cpp::Expr condition = use(op.operands[0]);
  parents_.push_back(&op);
  cpp::Body then_body = collect(op.regions[0]);
  cpp::Body else_body = collect(op.regions[1]);
  parents_.pop_back();
  if (then_body.empty() && !else_body.empty()) {
    return push(cpp::branch(cpp::unary("!", std::move(condition)), std::move(else_body)), op.loc);
  }
  push(cpp::branch(std::move(condition), std::move(then_body), std::move(else_body)), op.loc);
}

void FunctionEmitter::for_op(const ir::Op& op) {
  declare_results(op, 2, true);
  cpp::Stmt loop;
  loop.kind = cpp::StmtKind::For;
  const ir::Region& region = op.regions[0];
  loop.name = name_of(region.params[0]);
  loop.value = use(op.operands[0]);
  loop.limit = use(op.operands[1]);
  values_[region.params[0]] = cpp::name(loop.name);
  for (size_t i = 1; i < region.params.size(); ++i) values_[region.params[i]] = values_.at(op.results[i - 1]);
  parents_.push_back(&op);
  loop.body = collect(region);
  parents_.pop_back();
  push(std::move(loop), op.loc);
}

void FunctionEmitter::while_op(const ir::Op& op) {
  declare_results(op, 0, true);
  for (size_t i = 0; i < op.results.size(); ++i) {
    for (const ir::Region& region : op.regions) values_[region.params[i]] = values_.at(op.results[i]);
  }
  cpp::Stmt loop;
  loop.kind = cpp::StmtKind::Forever;
  parents_.push_back(&op);
  loop.body = collect(op.regions[0]);  // Its yield breaks out.
  for (cpp::Stmt& stmt : collect(op.regions[1])) loop.body.push_back(std::move(stmt));
  parents_.pop_back();
  push(std::move(loop), op.loc);
}

void FunctionEmitter::guarded(const ir::Op& op, const char* guard) {
  declare_results(op, 0, false);
  std::vector<cpp::Expr> args = uses(op);
  parents_.push_back(&op);
  cpp::Body inner = collect(op.regions[0]);
  parents_.pop_back();
  inner.insert(inner.begin(), cpp::object(cpp::constant(cpp::plain(guard)), "guard", std::move(args)));
  push(cpp::block(std::move(inner)), op.loc);
}

/// The end of a loop that makes a list, which has its limit where only the run knows how long it gets.
cpp::Expr FunctionEmitter::list_end(const ir::Op& op) {
  const auto is_known = [&](ValueId id) { return function_.values[id].constant.has_value(); };
  if (is_known(op.operands[0]) && is_known(op.operands[1])) return use(op.operands[1]);
  const std::string name = "end_" + std::to_string(op.results[0]);
  cpp::Expr end = cpp::call("ltr::list_end", {use(op.operands[0]), use(op.operands[1]), place_of(op)});
  push(cpp::variable(cpp::constant(cpp::plain("int64_t")), name, std::move(end)), op.loc);
  return cpp::name(name);
}

void FunctionEmitter::comprehension(const ir::Op& op) {
  const std::string list = name_of(op.results[0]);
  push(cpp::declaration(cx_.type(type(op.results[0])), list), op.loc);
  values_[op.results[0]] = cpp::name(list);
  cpp::Stmt loop;
  loop.kind = cpp::StmtKind::For;
  const ir::Region& region = op.regions[0];
  loop.name = name_of(region.params[0]);
  loop.value = use(op.operands[0]);
  loop.limit = list_end(op);
  values_[region.params[0]] = cpp::name(loop.name);
  const std::string outer = collected_;
  collected_ = list;
  parents_.push_back(&op);
  loop.body = collect(region);
  parents_.pop_back();
  collected_ = outer;
  push(std::move(loop), op.loc);
}

void FunctionEmitter::scan(const ir::Op& op) {
  const auto outputs = size_t(op.number("outputs"));
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId result = op.results[i];
    const std::string name = name_of(result);
    if (i < outputs) {
      push(cpp::declaration(cx_.type(type(result)), name), op.loc);
    } else {
      push(cpp::variable(cx_.type(type(result)), name, use_as(op.operands[2 + i - outputs], type(result))), op.loc);
    }
    values_[result] = cpp::name(name);
  }
  cpp::Stmt loop;
  loop.kind = cpp::StmtKind::For;
  const ir::Region& region = op.regions[0];
  loop.name = name_of(region.params[0]);
  loop.value = use(op.operands[0]);
  loop.limit = list_end(op);
  values_[region.params[0]] = cpp::name(loop.name);
  for (size_t i = 1; i < region.params.size(); ++i) values_[region.params[i]] = values_.at(op.results[outputs + i - 1]);
  parents_.push_back(&op);
  loop.body = collect(region);
  parents_.pop_back();
  push(std::move(loop), op.loc);
}

cpp::Expr FunctionEmitter::function(const ir::Op& op) {
  const ir::Type& signature = type(op.results[0]);
  std::vector<cpp::Param> params;
  for (const ValueId param : op.regions[0].params) {
    params.push_back({cpp::const_reference(cx_.type(type(param))), name_of(param)});
    values_[param] = cpp::name(params.back().name);
  }
  parents_.push_back(&op);
  cpp::Body body = collect(op.regions[0]);
  parents_.pop_back();
  cpp::Expr made = cpp::lambda(std::move(params), cx_.type(signature.fields.back().type), std::move(body));
  made.text = "=";
  if (takes_context(function_.role)) made.text += ", &cx";
  if (!function_.owner.empty()) made.text += ", this";
  return cpp::construct(cx_.type(signature), {std::move(made)});
}

void FunctionEmitter::yield(const ir::Op& op) {
  const ir::Op& parent = *parents_.back();
  if (parent.kind == OpKind::Function) {
    const ir::Type& result = type(parent.results[0]).fields.back().type;
    return push(cpp::give_back(use_as(op.operands[0], result)), op.loc);
  }
  size_t outputs = 0;
  if (parent.kind == OpKind::Scan) {
    for (outputs = 0; outputs < size_t(parent.number("outputs")); ++outputs) {
      const cpp::Expr& list = values_.at(parent.results[outputs]);
      push(cpp::expression(cpp::call(cpp::dot(list, "push_back"), {use(op.operands[outputs])})), op.loc);
    }
  }
  if (parent.kind == OpKind::Comprehension) {
    return push(cpp::expression(cpp::call(cpp::dot(cpp::name(collected_), "push_back"), {use(op.operands[0])})),
                op.loc);
  }
  if (parent.kind == OpKind::While && op.operands.size() == 1 && type(op.operands[0]).is(TypeKind::Bool) &&
      &parent.regions[0].ops.back() == &op) {
    cpp::Stmt leave;
    leave.kind = cpp::StmtKind::Break;
    return push(cpp::branch(cpp::unary("!", use(op.operands[0])), {leave}), op.loc);
  }
  // All are read before any is written: `a, b = b, a`.
  std::vector<cpp::Expr> values;
  for (size_t i = outputs; i < op.operands.size(); ++i) {
    values.push_back(use_as(op.operands[i], type(parent.results[i])));
    if (op.operands.size() - outputs == 1) break;
    const std::string next = "next_" + std::to_string(parent.results[i]);
    push(cpp::variable(cx_.type(type(parent.results[i])), next, std::move(values.back())), op.loc);
    values.back() = cpp::name(next);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const cpp::Expr& target = values_.at(parent.results[outputs + i]);
    if (values[i].kind == cpp::ExprKind::Name && values[i].text == target.text) continue;
    push(cpp::assign(target, std::move(values[i])), op.loc);
  }
}

void FunctionEmitter::leave(const ir::Op& op) {
  if (function_.role == Role::MetricMaker) {
    return push(cpp::expression(cpp::call(cpp::dot(cpp::name("states"), "push_back"), {use(op.operands[0])})), op.loc);
  }
  if (function_.role == Role::Fits) {
    push(cpp::variable(cpp::constant(cpp::plain("bool")), "fits", use(op.operands[0])), op.loc);
    for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
      if (hparam.fits != function_.name) continue;
      push(cpp::assign(cpp::dot(cpp::name("program::hparams"), Context::identifier(hparam.name)), cpp::name("saved")),
           op.loc);
    }
    return push(cpp::give_back(cpp::name("fits")), op.loc);
  }
  if (!op.operands.empty()) return push(cpp::give_back(use_as(op.operands[0], function_.result)), op.loc);
  if (function_.result.is(TypeKind::Void)) {
    if (depth_ > 0) push(cpp::give_back(), op.loc);
    return;
  }
  // Every path has returned before; the compiler cannot see it.
  push(cpp::expression(cpp::call("__builtin_unreachable", {})), op.loc);
}

}  // namespace ltr::emit
