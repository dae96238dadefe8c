#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::Effect;
using ir::OpKind;
using ir::Role;
using ir::TypeKind;
using ir::ValueId;

cpp::Function emit_function(const ir::Function& function, Context& cx) { return FunctionEmitter(function, cx).run(); }

cpp::Function FunctionEmitter::run() {
  cpp::Function out = signature();
  body_ = &out.body;
  name_params(out);
  if (function_.is_recomputed) recompute(out);
  count_uses(function_.body, 0);
  region(function_.body);
  return out;
}

namespace {

bool is_static(Role role) { return role == Role::InitRule || role == Role::MetricMaker; }

bool is_experiments(Role role) {
  return role == Role::Resolve || role == Role::MakeData || role == Role::MakeModel || role == Role::ListCallbacks;
}

}  // namespace

cpp::Function FunctionEmitter::signature() {
  cpp::Function out;
  out.name = cx_.fn_name(function_);
  if (function_.owner.empty()) {
    out.name = out.name.substr(std::string("program::").size());
  } else {
    out.owner = Context::identifier(function_.owner);
    out.is_static = is_static(function_.role);
    out.is_override = function_.role == Role::MetricLength;
  }
  out.result = function_.role == Role::MetricMaker ? cpp::plain("void") : cx_.type(function_.result);
  if (function_.role == Role::MakeData) out.result = cpp::pointer(cpp::plain("ltr::Data"));
  if (function_.role == Role::MakeModel) out.result = cpp::pointer(cpp::plain("ltr::Model"));
  return out;
}

// The fixed params of each role stand in front; then those of the program.
void FunctionEmitter::name_params(cpp::Function& out) {
  size_t first = 0;
  const auto& params = function_.body.params;
  if (!function_.owner.empty()) {
    if (!is_static(function_.role)) self_ = params[first];
    values_[params[first++]] = cpp::name("this");
    if (is_static(function_.role)) {
      const cpp::Type self = cpp::pointer(cpp::constant(cpp::plain(cx_.struct_name(function_.owner))));
      if (function_.role == Role::MetricMaker) {
        const cpp::Type states = cpp::generic("std::vector", {cx_.type(function_.result)});
        out.params.push_back({cpp::reference(states), "states"});
      }
      out.params.push_back({cpp::pointer(cpp::constant(cpp::plain("void"))), "self"});
      values_[params[0]] = cpp::cast(self, cpp::name("self"));
    }
  }
  if (is_experiments(function_.role)) out.params.push_back({cpp::reference(cpp::plain("ltr::Settings")), "settings"});
  if (takes_context(function_.role)) out.params.push_back({cpp::reference(cpp::plain("ltr::Context")), "cx"});
  for (size_t i = first; i < params.size(); ++i) {
    const ValueId id = params[i];
    const std::string name = name_of(id);
    if (function_.role == Role::MakeModel && type(id).is(TypeKind::Data)) {
      out.params.push_back({cpp::reference(cpp::plain("ltr::Data")), "data"});
      values_[id] = cpp::cast(cx_.type(type(id)), cpp::unary("&", cpp::name("data")));
      continue;
    }
    out.params.push_back({cx_.param_type(type(id)), name});
    values_[id] = cpp::name(name);
  }
  if (function_.role == Role::Test && !cx_.tables.defaults.empty()) {
    out.body.push_back(cpp::expression(cpp::call("program::" + Context::identifier(cx_.tables.defaults), {})));
  }
  // With gradients, what a metric keeps would hold the graphs of all steps of an epoch.
  if (function_.role == Role::MetricUpdate || function_.role == Role::MetricMerge) {
    out.body.push_back(cpp::object(cpp::constant(cpp::plain("ltr::NoGrad")), "guard", {}));
  }
  if (function_.role == Role::Fits) {
    for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
      if (hparam.fits != function_.name) continue;
      const cpp::Expr place = cpp::dot(cpp::name("program::hparams"), Context::identifier(hparam.name));
      out.body.push_back(cpp::variable(cpp::constant(cx_.type(hparam.type)), "saved", place));
    }
  }
}

// The first call of such a block calls itself once more, below the scope that remembers how to do that again.
void FunctionEmitter::recompute(cpp::Function& out) {
  std::vector<cpp::Expr> arguments;
  for (const cpp::Param& param : out.params) arguments.push_back(cpp::name(param.name));
  const cpp::Expr call = cpp::call(cpp::self(out.name), std::move(arguments));
  const cpp::Expr place = cpp::self("ltr_scope");
  cpp::Body body = {cpp::object(cpp::constant(cpp::plain("ltr::Recomputed")), "recomputed",
                                {place, cpp::lambda({}, cpp::plain("void"), {cpp::expression(call)}, "=, this")}),
                    cpp::give_back(call)};
  out.body.push_back(cpp::branch(cpp::call(cpp::dot(place, "is_recomputed"), {}), std::move(body)));
}

void FunctionEmitter::count_uses(const ir::Region& region, int depth) {
  for (const ir::Op& op : region.ops) {
    for (const ValueId id : op.results) definitions_[id] = &op;
    for (const ValueId id : op.operands) {
      ++uses_[id];
      use_depth_[id] = depth;
    }
    for (const ir::Region& inner : op.regions) count_uses(inner, depth + 1);
  }
}

std::string FunctionEmitter::name_of(ValueId id) const {
  const std::string& hint = function_.values[id].name;
  return (hint.empty() ? "v" : hint) + "_" + std::to_string(id);
}

bool FunctionEmitter::is_none(ValueId id) const {
  const auto& constant = function_.values[id].constant;
  return constant && std::holds_alternative<ir::NoneConstant>(*constant);
}

cpp::Expr FunctionEmitter::constant(const ir::Constant& constant, const ir::Type& type) {
  struct Visitor {
    Context& cx;
    const ir::Type& type;
    cpp::Expr operator()(ir::NoneConstant) const { return cx.none_of(type); }
    cpp::Expr operator()(bool value) const { return cpp::boolean(value); }
    cpp::Expr operator()(int64_t value) const { return cpp::integer(value); }
    cpp::Expr operator()(double value) const { return cpp::real(value); }
    cpp::Expr operator()(const std::string& value) const { return cpp::string(value); }
  };
  return std::visit(Visitor{cx_, type}, constant);
}

const ir::Op* FunctionEmitter::definition(ValueId id) const {
  const auto known = definitions_.find(id);
  return known == definitions_.end() ? nullptr : known->second;
}

cpp::Expr FunctionEmitter::use(ValueId id) {
  const ir::Value& value = function_.values[id];
  if (value.constant) return constant(*value.constant, value.type);
  const auto known = values_.find(id);
  LTR_INVARIANT(known != values_.end(), function_.name + ": a value is read before it is written", function_.loc);
  return known->second;
}

cpp::Expr FunctionEmitter::use_as(ValueId id, const ir::Type& wanted) {
  const bool takes_none = wanted.is(TypeKind::Option) || wanted.is_tensor() || wanted.is(TypeKind::Value);
  if (is_none(id) && takes_none) return cx_.none_of(wanted);
  return use(id);
}

std::vector<cpp::Expr> FunctionEmitter::uses(const ir::Op& op, size_t from) {
  std::vector<cpp::Expr> list;
  for (size_t i = from; i < op.operands.size(); ++i) {
    cpp::Expr one = use(op.operands[i]);
    list.push_back(type(op.operands[i]).is(TypeKind::Optimizer) ? cpp::unary("*", std::move(one)) : std::move(one));
  }
  return list;
}

void FunctionEmitter::push(cpp::Stmt stmt, const ir::Loc& loc) {
  stmt.origin = cx_.origin(loc);
  body_->push_back(std::move(stmt));
}

// One store per line of the program; the runtime names it in the message of whatever goes wrong.
void FunctionEmitter::at(const ir::Op& op) {
  if (!cx_.is_users(op.loc) || function_.is_library) return;
  const bool may_fail = op.kind == OpKind::CallOp || (op.effect() != Effect::None && op.effect() != Effect::ReadParam &&
                                                      op.effect() != Effect::Region && op.effect() != Effect::Exit);
  if (!may_fail || (op.loc.file == last_at_.file && op.loc.line == last_at_.line)) return;
  last_at_ = op.loc;
  cpp::Stmt stmt = cpp::expression(cpp::call("ltr::at", {cx_.location(op.loc)}));
  stmt.origin.line = -1;
  body_->push_back(std::move(stmt));
}

void FunctionEmitter::region(const ir::Region& region) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    op(region.ops[i], i + 1 < region.ops.size() ? &region.ops[i + 1] : nullptr);
  }
}

bool FunctionEmitter::may_inline(const ir::Op& op, const ir::Op* next) const {
  const ValueId result = op.results[0];
  const auto count = uses_.find(result);
  const int reads = count == uses_.end() ? 0 : count->second;
  // What hangs on counts of the run is written where it is read, so that a condition on it is asked as a whole.
  if (op.info().has(ir::Cheap) || hangs_on_counts(result)) return true;
  if (reads != 1) return false;
  // The reader is the next op and takes nothing else that could come in between.
  if (next != nullptr &&
      (next->kind == OpKind::Return || next->kind == OpKind::SetMember || next->kind == OpKind::SetHparam ||
       next->kind == OpKind::SetSlot || next->kind == OpKind::WriteBuffer)) {
    for (const ValueId id : next->operands) {
      if (id == result) return true;
    }
  }
  if (op.effect() != Effect::None || op.kind == OpKind::CallOp || use_depth_.at(result) != depth_) return false;
  return op.kind != OpKind::Convert || !function_.values[result].type.is_tensor();
}

// `x = ltr::relu(x)`: the old value is read here for the last time and goes, so that a chain holds one activation.
bool FunctionEmitter::reuse(const ir::Op& op, cpp::Expr& value) {
  const ValueId result = op.results[0];
  if (op.kind != OpKind::CallOp || !type(result).is_tensor() || !function_.values[result].name.empty()) return false;
  for (const ValueId id : op.operands) {
    const auto known = owned_.find(id);
    if (known == owned_.end() || uses_.at(id) != 1 || use_depth_.at(id) != depth_) continue;
    const std::string name = known->second;
    push(cpp::assign(cpp::name(name), std::move(value)), op.loc);
    values_[result] = cpp::name(name);
    owned_[result] = name;
    return true;
  }
  return false;
}

void FunctionEmitter::give(const ir::Op& op, cpp::Expr value, const ir::Op* next) {
  if (op.results.empty()) return push(cpp::expression(std::move(value)), op.loc);
  const ValueId result = op.results[0];
  if (may_inline(op, next)) {
    values_[result] = std::move(value);
    return;
  }
  if (uses_.find(result) == uses_.end()) return push(cpp::expression(std::move(value)), op.loc);
  if (reuse(op, value)) return;
  const std::string name = name_of(result);
  const ir::Type& result_type = type(result);
  const bool owns = result_type.is_tensor() && op.kind == OpKind::CallOp && function_.values[result].name.empty();
  const cpp::Type cpp_type = cx_.type(result_type);
  push(cpp::variable(owns                     ? cpp_type
                     : cpp_type.suffix == '*' ? cpp_type
                                              : cpp::constant(cpp_type),
                     name, std::move(value)),
       op.loc);
  values_[result] = cpp::name(name);
  if (owns) owned_[result] = name;
}

void FunctionEmitter::op(const ir::Op& op, const ir::Op* next) {
  at(op);
  switch (op.kind) {
    case OpKind::If: return if_op(op);
    case OpKind::For: return for_op(op);
    case OpKind::While: return while_op(op);
    case OpKind::NoGrad: return guarded(op, "ltr::NoGrad");
    case OpKind::FrozenRegion: return guarded(op, "ltr::Frozen");
    case OpKind::Comprehension: return comprehension(op);
    case OpKind::Scan: return scan(op);
    case OpKind::Function: {
      const std::string name = name_of(op.results[0]);
      push(cpp::variable(cpp::constant(cx_.type(type(op.results[0]))), name, function(op)), op.loc);
      values_[op.results[0]] = cpp::name(name);
      return;
    }
    case OpKind::Yield: return yield(op);
    case OpKind::Return: return leave(op);
    case OpKind::Construct: return construct(op, next);
    case OpKind::MakeGroup: return;  // Written where its optimizer is made.
    case OpKind::Setting:
    case OpKind::DeclareHparam:
      // `Convert` asks for the value in its own type.
      if (next != nullptr && next->kind == OpKind::Convert && next->operands[0] == op.results[0] &&
          uses_.at(op.results[0]) == 1)
        return;
      break;
    default: break;
  }
  const bool is_statement =
      op.results.empty() && op.kind != OpKind::CallOp && op.kind != OpKind::CallFn && op.kind != OpKind::CallMethod;
  if (is_statement || op.kind == OpKind::CallMetric) {
    statement(op);
  } else {
    give(op, value(op), next);
  }
  // What was called named lines of its own.
  if (op.kind == OpKind::CallFn || op.kind == OpKind::CallMethod || op.kind == OpKind::CallMetric ||
      op.kind == OpKind::CallValue || op.kind == OpKind::CallExtern)
    last_at_ = {};
}

}  // namespace ltr::emit
