#include <string_view>
#include <unordered_map>

#include "codegen/lower/body.h"
#include "dsl/host/op.h"

namespace ltr::lower {

using check::Expr;
using check::ExprId;
using check::ExprIds;
using check::ExprView;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;
namespace node = check::node;

std::vector<ValueId> BodyLowerer::exprs(const ExprIds& list) {
  std::vector<ValueId> values;
  for (const ExprId id : list) values.push_back(expr(id));
  return values;
}

ValueId BodyLowerer::unknown(const Type& type) {
  LTR_INVARIANT(shared_.is_analysis, "an error reached lower", b.loc);
  b.function().has_error = true;
  return b.op(OpKind::Unknown, type, {});
}

ValueId BodyLowerer::expr(const ExprView& expr) {
  const ir::Loc outer = b.loc;
  if (!expr.span.is_empty()) b.loc = shared_.loc(expr.span);
  struct Restore {
    ir::Loc& loc;
    ir::Loc value;
    ~Restore() { loc = value; }
  } restore{b.loc, outer};
  if (expr.type.is_error()) return unknown(Type::of(TypeKind::Error));
  return std::visit([&](const auto& node) { return lower(node, expr); }, expr.node);
}

ValueId BodyLowerer::lower(const node::Error&, const ExprView&) {
  throw ir::InternalError("an expression with an error reached lower", b.loc);
}

ValueId BodyLowerer::lower(const node::IntConst& node, const ExprView&) { return b.int_const(node.value); }
ValueId BodyLowerer::lower(const node::FloatConst& node, const ExprView&) { return b.float_const(node.value); }
ValueId BodyLowerer::lower(const node::BoolConst& node, const ExprView&) { return b.bool_const(node.value); }
ValueId BodyLowerer::lower(const node::StrConst& node, const ExprView&) { return b.str_const(node.text); }
ValueId BodyLowerer::lower(const node::NoneConst&, const ExprView& expr) {
  return b.constant(shared_.type(expr.type), ir::NoneConstant{});
}
ValueId BodyLowerer::lower(const node::Symbol& node, const ExprView& expr) {
  return expr.type.kind == Kind::OneOf ? b.str_const(node.text) : setting(expr);
}
ValueId BodyLowerer::lower(const node::Quantity&, const ExprView& expr) { return setting(expr); }
ValueId BodyLowerer::lower(const node::Series&, const ExprView& expr) { return setting(expr); }
ValueId BodyLowerer::lower(const node::Call&, const ExprView& expr) { return setting(expr); }

ValueId BodyLowerer::lower(const node::Local& node, const ExprView& expr) {
  const auto known = env.find(node.local);
  if (known == env.end() && shared_.is_analysis) return unknown(shared_.type(expr.type));
  LTR_INVARIANT(known != env.end(), "local `" + node.name + "` has no value", b.loc);
  return known->second;
}
ValueId BodyLowerer::lower(const node::Self&, const ExprView&) { return *self; }
ValueId BodyLowerer::lower(const node::ModelOf&, const ExprView&) { return *model; }
ValueId BodyLowerer::lower(const node::Hparam& node, const ExprView& expr) {
  return b.op(OpKind::ReadHparam, shared_.type(expr.type), {}, node.name);
}
ValueId BodyLowerer::lower(const node::DataMember& node, const ExprView& expr) {
  // A dim that the data tells is read from itself where its own code asks for it.
  const bool is_own = !data && owner != nullptr && owner->kind == TypeKind::Data;
  LTR_INVARIANT(data.has_value() || is_own, "no data is wired here", b.loc);
  return b.op(OpKind::Member, shared_.type(expr.type), {is_own ? *self : *data},
              node.is_param ? "$" + node.name : node.name);
}
ValueId BodyLowerer::lower(const node::Context& node, const ExprView& expr) {
  if (node.name == "world" && world) return *world;
  if (node.name == "output") return output(expr.type);
  return b.op(OpKind::ReadContext, shared_.type(expr.type), {}, node.name);
}
ValueId BodyLowerer::lower(const node::MetricSeries& node, const ExprView& expr) {
  return b.op(OpKind::ReadSeries, shared_.type(expr.type), {}, node.series);
}
ValueId BodyLowerer::lower(const node::FnValue&, const ExprView&) {
  return b.constant(Type::of(TypeKind::Function), ir::NoneConstant{});
}

// A param and a member may share a name; params are `$name` in paths.
ValueId BodyLowerer::lower(const node::Member& node, const ExprView& expr) {
  const ExprView& base = at(node.object);
  const Type type = shared_.type(expr.type);
  if (base.is<node::Self>()) {
    const auto& made = node.is_param ? own_params : own_members;
    const auto known = made.find(node.name);
    if (known != made.end()) return known->second;
  }
  const ValueId object = this->expr(base);
  if (node.is_param) return b.op(OpKind::Member, type, {object}, "$" + node.name);
  const ObjectRef& ref = base.is<node::Self>() ? *owner : shared_.object(base.type);
  const check::Member* member = ref.find_member(node.name);
  if (member == nullptr) return b.op(OpKind::Member, type, {object}, "$" + node.name);
  switch (member->kind) {
    case check::MemberKind::Weight: return b.op(OpKind::ReadParam, type, {object}, node.name);
    case check::MemberKind::Buffer:
    case check::MemberKind::State: return b.op(OpKind::ReadBuffer, type, {object}, node.name);
    case check::MemberKind::Block:
    case check::MemberKind::Let:
    case check::MemberKind::Metric:
    case check::MemberKind::Optimizer: break;
  }
  return b.op(OpKind::Member, type, {object}, node.name);
}

ValueId BodyLowerer::lower(const node::Tuple& node, const ExprView& expr) {
  return b.op(OpKind::TupleOf, shared_.type(expr.type), placed(node.elements, expr.type));
}
ValueId BodyLowerer::lower(const node::Range& node, const ExprView& expr) {
  const ValueId from = this->expr(node.from);
  return b.op(OpKind::TupleOf, shared_.type(expr.type), {from, this->expr(node.to)});
}
ValueId BodyLowerer::lower(const node::RecordField& node, const ExprView& expr) {
  return b.op(OpKind::RecordGet, shared_.type(expr.type), {this->expr(node.record)}, node.name);
}
ValueId BodyLowerer::lower(const node::TupleElement& node, const ExprView& expr) {
  const ValueId index = b.int_const(node.index);
  return get_element(this->expr(node.tuple), index, shared_.type(expr.type));
}
ValueId BodyLowerer::lower(const node::ListElement& node, const ExprView& expr) {
  // A chain takes all elements of one list, one right after the other.
  const ir::Op* newest = b.newest();
  const bool is_element = newest != nullptr && (newest->kind == OpKind::ListGet || newest->kind == OpKind::TupleGet);
  const bool is_same = is_element && list.first == node.list && newest->operands[0] == list.second;
  const ValueId of = is_same && at(node.list).is<node::Member>() ? list.second : this->expr(node.list);
  list = {node.list, of};
  return get_element(of, this->expr(node.index), shared_.type(expr.type));
}
ValueId BodyLowerer::lower(const node::ListLength& node, const ExprView& expr) {
  return b.op(OpKind::ListLength, shared_.type(expr.type), {this->expr(node.list)});
}
ValueId BodyLowerer::lower(const node::Shape& node, const ExprView&) {
  return b.op(OpKind::ShapeOf, Type::list(Type::of(TypeKind::Int)), {this->expr(node.tensor)});
}

ValueId BodyLowerer::lower(const node::If& node, const ExprView& expr) {
  const ValueId condition = this->expr(node.condition);
  const Type type = shared_.type(expr.type);
  // The elements of `[none, 2]` are kept apart, those of both branches are options.
  const bool has_parts = type.is(TypeKind::List) || type.is(TypeKind::Tuple);
  const auto branch = [&](check::ExprId value) {
    const ValueId lowered = this->expr(value);
    return has_parts ? fit(lowered, type) : lowered;
  };
  return either(condition, type, [&] { return branch(node.then_value); }, [&] { return branch(node.else_value); });
}
ValueId BodyLowerer::lower(const node::And& node, const ExprView&) { return lazy(true, node.left, node.right); }
ValueId BodyLowerer::lower(const node::Or& node, const ExprView&) { return lazy(false, node.left, node.right); }
ValueId BodyLowerer::lower(const node::Not& node, const ExprView&) {
  // `x != none`
  const auto* equal = at(node.value).get<node::Equal>();
  if (equal != nullptr && at(equal->right).type.kind == check::Kind::None)
    return b.host(host::Op::Defined, Type::of(TypeKind::Bool), {this->expr(equal->left)});
  return b.host(host::Op::Not, Type::of(TypeKind::Bool), {this->expr(node.value)});
}
ValueId BodyLowerer::lower(const node::Host& node, const ExprView& expr) {
  return b.host(node.op, shared_.type(expr.type), exprs(node.args));
}
ValueId BodyLowerer::lower(const node::Equal& node, const ExprView&) {
  const ValueId left = this->expr(node.left);
  if (at(node.right).type.kind == check::Kind::None) {
    const Type type = Type::of(TypeKind::Bool);
    return b.host(host::Op::Not, type, {b.host(host::Op::Defined, type, {left})});
  }
  return b.op(OpKind::Equal, Type::of(TypeKind::Bool), {left, this->expr(node.right)});
}
ValueId BodyLowerer::lower(const node::Convert& node, const ExprView& expr) {
  const ValueId value = this->expr(node.value);
  const Type to = shared_.type(expr.type);
  return b.type(value) == to ? value : convert(value, to);
}
ValueId BodyLowerer::lower(const node::Interpolate& node, const ExprView&) {
  std::vector<ValueId> parts;
  ir::Texts formats;
  for (const node::TextPart& part : node.parts) {
    parts.push_back(text(this->expr(part.value), at(part.value).type));
    formats.push_back(part.format);
  }
  return b.op(OpKind::Interpolate, Type::of(TypeKind::Str), std::move(parts), "", {{"formats", std::move(formats)}});
}
ValueId BodyLowerer::lower(const node::CheckShape& node, const ExprView& expr) {
  std::vector<ValueId> operands = {this->expr(node.tensor)};
  for (const ExprId dim : node.dims) operands.push_back(this->expr(dim));
  return b.op(OpKind::CheckShape, shared_.type(expr.type), std::move(operands), "", {{"text", node.text}});
}
ValueId BodyLowerer::lower(const node::CheckResult& node, const ExprView& expr) {
  std::vector<ValueId> operands = {this->expr(node.tensor)};
  for (const ExprId dim : node.dims) operands.push_back(this->expr(dim));
  if (node.leading) {
    operands.push_back(this->expr(node.leading->tensor));
    operands.push_back(this->expr(node.leading->axes));
  }
  return b.op(OpKind::CheckResult, shared_.type(expr.type), std::move(operands), "",
              {{"text", node.text}, {"dims", int64_t(node.dims.size())}});
}
ValueId BodyLowerer::lower(const node::LetIn& node, const ExprView&) {
  let(node.local, this->expr(node.value));
  return this->expr(node.result);
}

ValueId BodyLowerer::get_element(ValueId base, ValueId index, const Type& type) {
  if (!b.type(base).is(TypeKind::Tuple)) return b.op(OpKind::ListGet, type, {base, index});
  const auto& known = b.value(index).constant;
  LTR_INVARIANT(known && std::holds_alternative<int64_t>(*known), "a mixed list is indexed by no constant", b.loc);
  int64_t at = std::get<int64_t>(*known);
  if (at < 0) at += int64_t(b.type(base).fields.size());
  return b.op(OpKind::TupleGet, type, {base}, "", {{"index", at}});
}

std::vector<ValueId> BodyLowerer::placed(const ExprIds& elements, const check::Type& type) {
  const std::optional<ValueId> outer = place;
  const Type scope = Type::of(TypeKind::Scope);
  std::vector<ValueId> values;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (outer && check::builds_blocks(at(elements[i]), shared_.program)) {
      place = type.kind == Kind::Record ? b.op(OpKind::Place, scope, {*outer}, type.fields[i].name)
                                        : b.op(OpKind::PlaceElement, scope, {*outer, b.int_const(int64_t(i))});
    }
    values.push_back(this->expr(elements[i]));
    place = outer;
  }
  return values;
}

ValueId BodyLowerer::lower(const node::Record& node, const ExprView& expr) {
  const Type type = shared_.type(expr.type);
  const std::vector<ValueId> values = placed(node.values, expr.type);  // Evaluated as written, stored as in the type.
  std::unordered_map<std::string_view, ValueId> by_name;
  for (size_t i = 0; i < values.size(); ++i) by_name.emplace(expr.type.fields[i].name, values[i]);
  std::vector<ValueId> ordered;
  for (const ir::Field& field : type.fields) {
    if (const auto value = by_name.find(field.name); value != by_name.end()) ordered.push_back(value->second);
  }
  return b.op(OpKind::RecordOf, type, std::move(ordered));
}

ValueId BodyLowerer::lower(const node::List& node, const ExprView& expr) {
  if (expr.type.kind == Kind::Weights)
    return b.op(OpKind::JoinWeights, Type::of(TypeKind::Weights), exprs(node.elements));
  if (shape && node.elements.empty()) return *shape;
  std::vector<ValueId> values = placed(node.elements, expr.type);
  const Type type = shared_.type(expr.type);
  return b.op(type.is(TypeKind::Tuple) ? OpKind::TupleOf : OpKind::ListOf, type, std::move(values));
}

ValueId BodyLowerer::lower(const node::Comprehension& node, const ExprView& expr) {
  const ValueId from = this->expr(node.from);
  const ValueId to = this->expr(node.to);
  ir::Op op;
  op.kind = OpKind::Comprehension;
  op.operands = {from, to};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(Type::of(TypeKind::Int));
  env[node.variable] = index;
  const std::optional<ValueId> outer = place;
  if (outer && check::builds_blocks(at(node.element), shared_.program)) {
    const auto& start = b.value(from).constant;
    const bool from_zero = start && *start == ir::Constant(int64_t(0));
    const ValueId number = from_zero ? index : b.host(host::Op::Sub, Type::of(TypeKind::Int), {index, from});
    place = b.op(OpKind::PlaceElement, Type::of(TypeKind::Scope), {*outer, number});
  }
  b.effect(OpKind::Yield, {this->expr(node.element)});
  place = outer;
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

// What is applied is evaluated once, where the function is made.
ValueId BodyLowerer::lower(const node::Function& node, const ExprView& expr) {
  if (!at(node.value).is<node::FnValue>()) env[node.local] = this->expr(node.value);
  ir::Op op;
  op.kind = OpKind::Function;
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  for (size_t i = 0; i < node.params.size(); ++i)
    env[node.params[i]] = b.region_param(shared_.type(expr.type.fields[i].type));
  b.effect(OpKind::Yield, {this->expr(node.result)});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

// A loop over the elements of one axis that collects what it yields.
ValueId BodyLowerer::lower(const node::Scan& node, const ExprView& expr) {
  const ValueId sequence = this->expr(node.sequence);
  const Type int_type = Type::of(TypeKind::Int);
  for (const node::Carried& one : node.carried) let(one.local, this->expr(one.initial));
  ir::Op op;
  op.kind = OpKind::Scan;
  op.loc = b.loc;
  op.operands = {b.int_const(0), b.op(OpKind::SizeOf, int_type, {sequence}, "", {{"axis", node.axis}})};
  const std::vector<check::LocalId> locals = carried(node.body);
  for (const check::LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  const ExprId yielded = node.body.back().get<check::stmt::Yield>()->value;
  const auto* tuple = at(yielded).get<node::Tuple>();
  const ExprIds parts = tuple != nullptr ? tuple->elements : ExprIds{yielded};
  std::vector<Type> types;
  for (const ExprId part : parts) types.push_back(shared_.type(at(part).type));
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(int_type);
  for (const check::LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  const Type element = local_type(node.element, index);
  let(node.element, b.call(library::Id::Select, element, {sequence, b.int_const(node.axis), index}));
  body(std::span(node.body).first(node.body.size() - 1));
  std::vector<ValueId> yields = exprs(parts);
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
    const check::Type& stack = tuple != nullptr ? expr.type.fields[i].type : expr.type;
    stacks.push_back(b.call(library::Id::Stack, shared_.type(stack), {lists[i], b.int_const(node.axis)}));
  }
  return tuple != nullptr ? b.op(OpKind::TupleOf, shared_.type(expr.type), std::move(stacks)) : stacks[0];
}

// `body(x)` of a uniform list is a loop that carries x.
ValueId BodyLowerer::lower(const node::ApplyList& node, const ExprView& expr) {
  const ValueId list = this->expr(node.list);
  const ValueId initial = this->expr(node.value);
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
  let(node.element, b.op(OpKind::ListGet, element, {list, index}));
  let(node.flowing, carried);
  b.effect(OpKind::Yield, {this->expr(node.applied)});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(type);
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

ValueId BodyLowerer::output(const check::Type& type) {
  const auto part = [&](const std::string& name, const Type& of) {
    return b.op(OpKind::ReadContext, of, {}, "output." + name);
  };
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
        if (host::info(op.host).may_fail) return false;
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
ValueId BodyLowerer::lazy(bool is_and, ExprId first, ExprId second) {
  const Type type = Type::of(TypeKind::Bool);
  const ValueId left = expr(first);
  const auto right = [&] { return expr(second); };
  ir::Region trial;
  b.open(trial);
  const ValueId value = right();
  b.close();
  if (is_harmless(trial)) {
    for (ir::Op& op : trial.ops) b.append(std::move(op));
    return b.host(is_and ? host::Op::And : host::Op::Or, type, {left, value});
  }
  const auto known = [&] { return b.bool_const(!is_and); };
  return is_and ? either(left, type, right, known) : either(left, type, known, right);
}

ValueId BodyLowerer::lower(const node::In& node, const ExprView&) {
  const Type type = Type::of(TypeKind::Bool);
  const ValueId value = expr(node.value);
  if (const auto* range = at(node.set).get<node::Range>()) {
    const ValueId low = b.host(host::Op::GreaterEqual, type, {value, expr(range->from)});
    return b.host(host::Op::And, type, {low, b.host(host::Op::Less, type, {value, expr(range->to)})});
  }
  const auto* list = at(node.set).get<node::List>();
  if (list == nullptr) return b.op(OpKind::InList, type, {value, expr(node.set)});
  // A written list becomes comparisons.
  ValueId any = b.bool_const(false);
  for (size_t i = 0; i < list->elements.size(); ++i) {
    const ValueId item = expr(list->elements[i]);
    // Folding knows numbers and texts; parts of records and tuples are compared one by one.
    const bool is_plain = b.type(item).fields.empty() && !b.type(item).is_tensor();
    const ValueId same =
        is_plain ? b.host(host::Op::Equal, type, {value, item}) : b.op(OpKind::Equal, type, {value, item});
    any = i == 0 ? same : b.host(host::Op::Or, type, {any, same});
  }
  return any;
}

}  // namespace ltr::lower
