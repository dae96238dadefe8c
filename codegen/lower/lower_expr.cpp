#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Expr;
using check::ExprKind;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

std::vector<ValueId> BodyLowerer::exprs(const std::vector<Expr>& list, size_t from) {
  std::vector<ValueId> values;
  for (size_t i = from; i < list.size(); ++i) values.push_back(expr(list[i]));
  return values;
}

ValueId BodyLowerer::unknown(const Type& type) {
  LTR_INVARIANT(shared_.is_analysis, "an error reached lower", b.loc);
  b.function().has_error = true;
  return b.op(OpKind::Unknown, type, {});
}

ValueId BodyLowerer::constant(const Expr& expr) {
  const Type type = shared_.type(expr.type);
  switch (expr.kind) {
    case ExprKind::IntConst: return b.int_const(expr.whole);
    case ExprKind::FloatConst: return b.float_const(expr.number);
    case ExprKind::BoolConst: return b.bool_const(expr.whole != 0);
    case ExprKind::StrConst: return b.str_const(expr.name);
    default: return b.constant(type, ir::NoneConstant{});
  }
}

// The cases follow `check::ExprKind`; each that is more than an op has a function of its own.
ValueId BodyLowerer::expr(const Expr& expr) {
  const ir::Loc outer = b.loc;
  if (!expr.span.is_empty()) b.loc = shared_.loc(expr.span);
  struct Restore {
    ir::Loc& loc;
    ir::Loc value;
    ~Restore() { loc = value; }
  } restore{b.loc, outer};
  const auto type = [&] { return shared_.type(expr.type); };
  if (expr.type.is_error()) return unknown(Type::of(TypeKind::Error));
  switch (expr.kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::BoolConst:
    case ExprKind::StrConst:
    case ExprKind::NoneConst: return constant(expr);
    case ExprKind::Symbol:
      if (expr.type.kind == Kind::OneOf) return b.str_const(expr.name);
      return setting(expr);
    case ExprKind::Quantity:
    case ExprKind::Series:
    case ExprKind::Call: return setting(expr);
    case ExprKind::Local: {
      const auto known = env.find(expr.local);
      if (known == env.end() && shared_.is_analysis) return unknown(type());
      LTR_INVARIANT(known != env.end(), "local `" + expr.name + "` has no value", b.loc);
      return known->second;
    }
    case ExprKind::Self: return *self;
    case ExprKind::ModelOf: return *model;
    case ExprKind::Member: return member(expr);
    case ExprKind::Hparam: return b.op(OpKind::ReadHparam, type(), {}, expr.name);
    case ExprKind::DataMember: {
      LTR_INVARIANT(data.has_value(), "no data is wired here", b.loc);
      return b.op(OpKind::Member, type(), {*data}, expr.whole == 1 ? "$" + expr.name : expr.name);
    }
    case ExprKind::Context:
      if (expr.name == "world" && world) return *world;
      if (expr.name == "output") return output(expr.type);
      return b.op(OpKind::ReadContext, type(), {}, expr.name);
    case ExprKind::MetricSeries: return b.op(OpKind::ReadSeries, type(), {}, expr.name);
    case ExprKind::Op: return op(expr);
    case ExprKind::CallFn:
    case ExprKind::CallMethod:
    case ExprKind::CallMetric: return call(expr);
    case ExprKind::Construct: return construct(expr);
    case ExprKind::List: return list(expr);
    case ExprKind::Tuple: return b.op(OpKind::TupleOf, type(), placed(expr));
    case ExprKind::Range: return b.op(OpKind::TupleOf, type(), exprs(expr.args));
    case ExprKind::Record: return record(expr);
    case ExprKind::RecordField: return b.op(OpKind::RecordGet, type(), {this->expr(expr.args[0])}, expr.name);
    case ExprKind::TupleElement:
      return get_element(this->expr(expr.args[0]), b.int_const(int64_t(expr.number)), type());
    case ExprKind::ListElement: {
      const ValueId base = this->expr(expr.args[0]);
      return get_element(base, this->expr(expr.args[1]), type());
    }
    case ExprKind::ListLength: return b.op(OpKind::ListLength, type(), {this->expr(expr.args[0])});
    case ExprKind::Comprehension: return comprehension(expr);
    case ExprKind::ApplyList: return apply_list(expr);
    case ExprKind::Shape: return b.op(OpKind::ShapeOf, Type::list(Type::of(TypeKind::Int)), {this->expr(expr.args[0])});
    case ExprKind::SizeOf:
      return b.op(OpKind::SizeOf, type(), {this->expr(expr.args[0])}, "", {{"axis", int64_t(expr.number)}});
    case ExprKind::If:
      return either(this->expr(expr.args[0]), type(), [&] { return this->expr(expr.args[1]); },
                    [&] { return this->expr(expr.args[2]); });
    case ExprKind::And:
    case ExprKind::Or: return lazy(expr);
    case ExprKind::Not: return host("not", Type::of(TypeKind::Bool), exprs(expr.args));
    case ExprKind::Host: return host(expr.name, type(), exprs(expr.args));
    case ExprKind::In: return in_list(expr);
    case ExprKind::Equal: return b.op(OpKind::Equal, Type::of(TypeKind::Bool), exprs(expr.args));
    case ExprKind::Convert: {
      const ValueId value = this->expr(expr.args[0]);
      const Type to = type();
      return b.type(value) == to ? value : convert(value, to);
    }
    case ExprKind::CheckShape: return b.op(OpKind::CheckShape, type(), exprs(expr.args), "", {{"text", expr.name}});
    case ExprKind::Interpolate: {
      std::vector<ValueId> parts;
      for (const Expr& arg : expr.args) parts.push_back(text(this->expr(arg), arg.type));
      return b.op(OpKind::Interpolate, Type::of(TypeKind::Str), std::move(parts), "",
                  {{"formats", ir::Texts(expr.formats.begin(), expr.formats.end())}});
    }
    case ExprKind::Weights: return weights(expr);
    case ExprKind::Frozen: return frozen(expr);
    case ExprKind::LetIn:
      let(expr.local, this->expr(expr.args[0]));
      return this->expr(expr.args[1]);
    case ExprKind::Function: return function(expr);
    case ExprKind::CallExtern: {
      const ir::ExternFn& callee = shared_.extern_fn(expr.name);
      return b.op(OpKind::CallExtern, type(), exprs(expr.args), expr.name, {{"backward", callee.backward}});
    }
    case ExprKind::CheckResult:
      return b.op(OpKind::CheckResult, type(), exprs(expr.args), "", {{"text", expr.name}, {"dims", expr.whole}});
    case ExprKind::CallValue: return b.op(OpKind::CallValue, type(), exprs(expr.args));
    case ExprKind::Scan: return scan(expr);
    case ExprKind::MapStage:
    case ExprKind::FilterStage: return map_stage(expr);
    case ExprKind::FnValue: return b.constant(Type::of(TypeKind::Function), ir::NoneConstant{});
    case ExprKind::Error: break;
  }
  throw ir::InternalError("an expression with an error reached lower", b.loc);
}

// A param and a member may share a name; params are `$name` in paths.
ValueId BodyLowerer::member(const Expr& expr) {
  const Expr& base = expr.args[0];
  const Type type = shared_.type(expr.type);
  const bool is_param = expr.whole == 1;
  if (base.kind == ExprKind::Self) {
    const auto& made = is_param ? own_params : own_members;
    const auto known = made.find(expr.name);
    if (known != made.end()) return known->second;
  }
  const ValueId object = this->expr(base);
  if (is_param) return b.op(OpKind::Member, type, {object}, "$" + expr.name);
  const ObjectRef& ref = base.kind == ExprKind::Self ? *owner : shared_.object(base.type);
  const check::Member* member = ref.find_member(expr.name);
  if (member == nullptr) return b.op(OpKind::Member, type, {object}, "$" + expr.name);
  switch (member->kind) {
    case check::MemberKind::Weight: return b.op(OpKind::ReadParam, type, {object}, expr.name);
    case check::MemberKind::Buffer:
    case check::MemberKind::State: return b.op(OpKind::ReadBuffer, type, {object}, expr.name);
    case check::MemberKind::Block:
    case check::MemberKind::Let:
    case check::MemberKind::Metric:
    case check::MemberKind::Optimizer: break;
  }
  return b.op(OpKind::Member, type, {object}, expr.name);
}

ValueId BodyLowerer::get_element(ValueId base, ValueId index, const Type& type) {
  if (!b.type(base).is(TypeKind::Tuple)) return b.op(OpKind::ListGet, type, {base, index});
  const auto& known = b.value(index).constant;
  LTR_INVARIANT(known && std::holds_alternative<int64_t>(*known), "a mixed list is indexed by no constant", b.loc);
  int64_t at = std::get<int64_t>(*known);
  if (at < 0) at += int64_t(b.type(base).fields.size());
  return b.op(OpKind::TupleGet, type, {base}, "", {{"index", at}});
}

namespace {

/// Expressions that build blocks, themselves or in their elements: each gets a place of its own.
bool takes_place(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::Construct:
    case ExprKind::List:
    case ExprKind::Tuple:
    case ExprKind::Record:
    case ExprKind::Comprehension: return true;
    default: return false;
  }
}

}  // namespace

std::vector<ValueId> BodyLowerer::placed(const Expr& expr) {
  const std::optional<ValueId> outer = place;
  const Type scope = Type::of(TypeKind::Scope);
  std::vector<ValueId> values;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    if (outer && takes_place(expr.args[i])) {
      place = expr.kind == ExprKind::Record ? b.op(OpKind::Place, scope, {*outer}, expr.type.fields[i].name)
                                            : b.op(OpKind::PlaceElement, scope, {*outer, b.int_const(int64_t(i))});
    }
    values.push_back(this->expr(expr.args[i]));
    place = outer;
  }
  return values;
}

ValueId BodyLowerer::record(const Expr& expr) {
  const Type type = shared_.type(expr.type);
  const std::vector<ValueId> values = placed(expr);  // Evaluated as written, stored in the order of the type.
  std::vector<ValueId> ordered;
  for (const ir::Field& field : type.fields) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (expr.type.fields[i].name == field.name) ordered.push_back(values[i]);
    }
  }
  return b.op(OpKind::RecordOf, type, std::move(ordered));
}

ValueId BodyLowerer::list(const Expr& expr) {
  if (expr.type.kind == Kind::Weights) return b.op(OpKind::JoinWeights, Type::of(TypeKind::Weights), exprs(expr.args));
  if (shape && expr.args.empty()) return *shape;
  std::vector<ValueId> values = placed(expr);
  const Type type = shared_.type(expr.type);
  return b.op(type.is(TypeKind::Tuple) ? OpKind::TupleOf : OpKind::ListOf, type, std::move(values));
}

ValueId BodyLowerer::comprehension(const Expr& expr) {
  const ValueId from = this->expr(expr.args[0]);
  const ValueId to = this->expr(expr.args[1]);
  ir::Op op;
  op.kind = OpKind::Comprehension;
  op.operands = {from, to};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(Type::of(TypeKind::Int));
  env[expr.local] = index;
  const std::optional<ValueId> outer = place;
  if (outer && takes_place(expr.args[2])) {
    const auto& start = b.value(from).constant;
    const bool from_zero = start && *start == ir::Constant(int64_t(0));
    const ValueId number = from_zero ? index : host("-", Type::of(TypeKind::Int), {index, from});
    place = b.op(OpKind::PlaceElement, Type::of(TypeKind::Scope), {*outer, number});
  }
  b.effect(OpKind::Yield, {this->expr(expr.args[2])});
  place = outer;
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

// What is applied is evaluated once, where the function is made.
ValueId BodyLowerer::function(const Expr& expr) {
  if (expr.args[0].kind != ExprKind::FnValue) env[expr.local] = this->expr(expr.args[0]);
  ir::Op op;
  op.kind = OpKind::Function;
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  for (size_t i = 0; i < expr.locals.size(); ++i)
    env[expr.locals[i]] = b.region_param(shared_.type(expr.type.fields[i].type));
  b.effect(OpKind::Yield, {this->expr(expr.args[1])});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

// A loop over the elements of one axis that collects what it yields.
ValueId BodyLowerer::scan(const Expr& expr) {
  const ValueId sequence = this->expr(expr.args[0]);
  const Type int_type = Type::of(TypeKind::Int);
  for (size_t i = 1; i < expr.args.size(); ++i) let(expr.locals[i], this->expr(expr.args[i]));
  ir::Op op;
  op.kind = OpKind::Scan;
  op.loc = b.loc;
  op.operands = {b.int_const(0), b.op(OpKind::SizeOf, int_type, {sequence}, "", {{"axis", expr.whole}})};
  const std::vector<check::LocalId> locals = carried({&expr.body});
  for (const check::LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  const Expr& yielded = expr.body.back().values[0];
  const bool is_tuple = yielded.kind == ExprKind::Tuple;
  std::vector<Type> types;
  for (const Expr& part : is_tuple ? yielded.args : std::vector<Expr>{yielded}) types.push_back(shared_.type(part.type));
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(int_type);
  for (const check::LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  const Type element = local_type(expr.locals[0], index);
  let(expr.locals[0], b.call(library::Id::Select, element, {sequence, b.int_const(expr.whole), index}));
  body(check::Body(expr.body.begin(), expr.body.end() - 1));
  std::vector<ValueId> yields;
  for (const Expr& part : is_tuple ? yielded.args : std::vector<Expr>{yielded}) yields.push_back(this->expr(part));
  for (const check::LocalId local : locals) yields.push_back(env.at(local));
  b.effect(OpKind::Yield, std::move(yields));
  b.close();
  op.regions.push_back(std::move(region));
  op.attrs.push_back({"outputs", int64_t(types.size())});
  env = before;
  for (const Type& output : types) op.results.push_back(b.new_value(Type::list(output)));
  for (const check::LocalId local : locals) {
    op.results.push_back(b.new_value(local_type(local, before.at(local))));
    let(local, op.results.back());
  }
  const std::vector<ValueId> lists(op.results.begin(), op.results.begin() + long(types.size()));
  b.append(std::move(op));
  std::vector<ValueId> stacks;
  for (size_t i = 0; i < lists.size(); ++i) {
    const check::Type& stack = is_tuple ? expr.type.fields[i].type : expr.type;
    stacks.push_back(b.call(library::Id::Stack, shared_.type(stack), {lists[i], b.int_const(expr.whole)}));
  }
  return is_tuple ? b.op(OpKind::TupleOf, shared_.type(expr.type), std::move(stacks)) : stacks[0];
}

// `body(x)` of a uniform list is a loop that carries x.
ValueId BodyLowerer::apply_list(const Expr& expr) {
  const ValueId list = this->expr(expr.args[0]);
  const ValueId initial = this->expr(expr.args[1]);
  const Type element = b.type(list).fields[0].type;
  const Type type = shared_.type(expr.type);
  const ValueId length = b.op(OpKind::ListLength, Type::of(TypeKind::Int), {list});
  ir::Op op;
  op.kind = OpKind::For;
  op.operands = {b.int_const(0), length, initial};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(Type::of(TypeKind::Int));
  const ValueId carried = b.region_param(type);
  let(expr.locals[0], b.op(OpKind::ListGet, element, {list, index}));
  let(expr.locals[1], carried);
  b.effect(OpKind::Yield, {this->expr(expr.args[2])});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(type);
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

ValueId BodyLowerer::output(const check::Type& type) {
  const auto part = [&](const std::string& name, const Type& of) { return b.op(OpKind::ReadContext, of, {}, "output." + name); };
  const Type whole = shared_.type(type);
  if (whole.is_tensor()) return part("prediction", whole);
  std::vector<ValueId> parts;
  for (size_t i = 0; i < whole.fields.size(); ++i) {
    const ir::Field& field = whole.fields[i];
    parts.push_back(part(whole.is(TypeKind::Record) ? field.name : "output_" + std::to_string(i), field.type));
  }
  return b.op(whole.is(TypeKind::Record) ? OpKind::RecordOf : OpKind::TupleOf, whole, std::move(parts));
}

namespace {

/// Ops that may be computed although their value is not asked for: they cannot fail and cost little.
bool is_harmless(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    if (!op.regions.empty()) return false;
    switch (op.kind) {
      case OpKind::HostOp:
        if (op.name == "/" || op.name == "//" || op.name == "%" || op.name == "ceil" || op.name == "**") return false;
        break;
      case OpKind::Choose:
      case OpKind::Member:
      case OpKind::ReadHparam:
      case OpKind::ReadContext:
      case OpKind::TupleGet:
      case OpKind::RecordGet:
      case OpKind::InList:
      case OpKind::ListOf:
      case OpKind::SizeOf:
      case OpKind::Convert: break;
      default: return false;
    }
  }
  return true;
}

}  // namespace

ValueId BodyLowerer::either(ValueId condition, const Type& type, const Make& then_value, const Make& else_value) {
  ir::Region then_region;
  b.open(then_region);
  const ValueId first = then_value();
  b.close();
  ir::Region else_region;
  b.open(else_region);
  const ValueId second = else_value();
  b.close();
  const bool is_plain = type.is_host_number() || type.is(TypeKind::Str);
  if (is_plain && is_harmless(then_region) && is_harmless(else_region)) {
    for (ir::Op& op : then_region.ops) b.append(std::move(op));
    for (ir::Op& op : else_region.ops) b.append(std::move(op));
    return b.op(OpKind::Choose, type, {condition, first, second});
  }
  b.open(then_region);
  b.effect(OpKind::Yield, {first});
  b.close();
  b.open(else_region);
  b.effect(OpKind::Yield, {second});
  b.close();
  ir::Op op;
  op.kind = OpKind::If;
  op.operands = {condition};
  op.loc = b.loc;
  op.regions.push_back(std::move(then_region));
  op.regions.push_back(std::move(else_region));
  const ValueId result = b.new_value(type);
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

// `a and b` is a plain op where computing b does no harm, else a branch.
ValueId BodyLowerer::lazy(const Expr& expr) {
  const bool is_and = expr.kind == ExprKind::And;
  const Type type = Type::of(TypeKind::Bool);
  const ValueId left = this->expr(expr.args[0]);
  const auto right = [&] { return this->expr(expr.args[1]); };
  ir::Region trial;
  b.open(trial);
  const ValueId value = right();
  b.close();
  if (is_harmless(trial)) {
    for (ir::Op& op : trial.ops) b.append(std::move(op));
    return host(is_and ? "and" : "or", type, {left, value});
  }
  const auto known = [&] { return b.bool_const(!is_and); };
  return is_and ? either(left, type, right, known) : either(left, type, known, right);
}

ValueId BodyLowerer::in_list(const Expr& expr) {
  const Type type = Type::of(TypeKind::Bool);
  const ValueId value = this->expr(expr.args[0]);
  if (expr.args[1].kind == ExprKind::Range) {
    const ValueId low = host(">=", type, {value, this->expr(expr.args[1].args[0])});
    return host("and", type, {low, host("<", type, {value, this->expr(expr.args[1].args[1])})});
  }
  if (expr.args[1].kind != ExprKind::List) return b.op(OpKind::InList, type, {value, this->expr(expr.args[1])});
  // A written list becomes comparisons.
  ValueId any = b.bool_const(false);
  for (size_t i = 0; i < expr.args[1].args.size(); ++i) {
    const ValueId item = this->expr(expr.args[1].args[i]);
    // Folding knows numbers and texts; parts of records and tuples are compared one by one.
    const bool is_plain = b.type(item).fields.empty() && !b.type(item).is_tensor();
    const ValueId same = is_plain ? host("==", type, {value, item}) : b.op(OpKind::Equal, type, {value, item});
    any = i == 0 ? same : host("or", type, {any, same});
  }
  return any;
}

}  // namespace ltr::lower
