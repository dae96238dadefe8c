// What `.weights` means: those of an object, those below the place of a list, tuple or record that is a member, and for a
// value that has no place, or holds what was built elsewhere, those of its parts.
#include "codegen/lower/body.h"
#include "dsl/check/walk.h"

namespace ltr::lower {

using check::Expr;
using check::ExprId;
using check::ExprView;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;
namespace node = check::node;

namespace {

bool has_parts(const check::Type& type) {
  return type.kind == Kind::List || type.kind == Kind::Tuple || type.kind == Kind::Record;
}

}  // namespace

ValueId BodyLowerer::lower(const node::Weights& node, const ExprView&) { return weights(at(node.of)); }

ValueId BodyLowerer::weights(const ExprView& base) {
  const Type type = Type::of(TypeKind::Weights);
  if (base.type.kind == Kind::Optimizer) return b.op(OpKind::WeightsOfOptimizer, type, {expr(base)});
  if (const auto* list = base.get<node::List>()) {
    std::vector<ValueId> parts;
    for (const ExprId part : list->elements) {
      if (at(part).type.kind != Kind::Function || check::is_block_param(at(part))) parts.push_back(weights(at(part)));
    }
    return b.op(OpKind::JoinWeights, type, std::move(parts));
  }
  if (has_parts(base.type)) {
    const auto below = place_below(base);
    return below ? b.op(OpKind::WeightsAt, type, {*below}) : weights_in(expr(base), base.type);
  }
  const Type scope = Type::of(TypeKind::Scope);
  if (base.type.kind == Kind::Function) {
    const auto* param = base.get<node::Member>();
    const ValueId owner = b.op(OpKind::ScopeOf, scope, {expr(param->object)});
    return b.op(OpKind::WeightsAt, type, {b.op(OpKind::Place, scope, {owner}, param->name)});
  }
  const ValueId place = b.op(OpKind::ScopeOf, scope, {expr(base)});
  if (!base.type.is_tensor()) return b.op(OpKind::WeightsAt, type, {place});
  // One weight, under its path from the model.
  const auto* member = base.get<node::Member>();
  std::string path = member->name;
  while ((member = at(member->object).get<node::Member>()) != nullptr) path = member->name + "." + path;
  return b.op(OpKind::WeightsAt, type, {place}, "", {{"weight", path}});
}

std::optional<ValueId> BodyLowerer::place_below(const ExprView& expr) {
  const Type scope = Type::of(TypeKind::Scope);
  if (const auto* member = expr.get<node::Member>()) {
    if (member->is_param || takes_blocks(*member)) return std::nullopt;
    const ValueId owner = b.op(OpKind::ScopeOf, scope, {this->expr(member->object)});
    return b.op(OpKind::Place, scope, {owner}, member->name);
  }
  if (const auto* field = expr.get<node::RecordField>()) {
    const auto whole = place_below(at(field->record));
    return whole ? std::optional(b.op(OpKind::Place, scope, {*whole}, field->name)) : std::nullopt;
  }
  if (const auto* part = expr.get<node::TupleElement>()) {
    const auto whole = place_below(at(part->tuple));
    return whole ? std::optional(b.op(OpKind::PlaceElement, scope, {*whole, b.int_const(part->index)})) : std::nullopt;
  }
  const auto* part = expr.get<node::ListElement>();
  const auto whole = part != nullptr ? place_below(at(part->list)) : std::nullopt;
  if (!whole) return std::nullopt;
  // From the end it is counted when the length is known, as a value.
  const auto* index = at(part->index).get<node::IntConst>();
  if (index == nullptr || index->value < 0) return std::nullopt;
  return b.op(OpKind::PlaceElement, scope, {*whole, this->expr(part->index)});
}

// What a member took from elsewhere does not lie below its place.
bool BodyLowerer::takes_blocks(const node::Member& member) const {
  const ExprView base = at(member.object);
  const ObjectRef& ref = base.is<node::Self>() ? *owner : shared_.object(base.type);
  const check::Member* declared = ref.find_member(member.name);
  return declared != nullptr && check::takes_blocks(declared->value, shared_.program);
}

ValueId BodyLowerer::weights_in(ValueId value, const check::Type& type) {
  const Type weights = Type::of(TypeKind::Weights);
  if (type.kind == Kind::Block) {
    return b.op(OpKind::WeightsAt, weights, {b.op(OpKind::ScopeOf, Type::of(TypeKind::Scope), {value})}, "",
                {{"part", int64_t(1)}});
  }
  if (type.kind == Kind::List && type.uniform) return weights_of_each(value, type.fields[0].type);
  std::vector<ValueId> parts;
  for (size_t i = 0; has_parts(type) && i < type.fields.size(); ++i) {
    const check::TypeField& field = type.fields[i];
    const Type part = shared_.type(field.type);
    const ValueId element = type.kind == Kind::Record ? b.op(OpKind::RecordGet, part, {value}, field.name)
                                                      : get_element(value, b.int_const(int64_t(i)), part);
    if (field.type.kind == Kind::Block || has_parts(field.type)) parts.push_back(weights_in(element, field.type));
  }
  return b.op(OpKind::JoinWeights, weights, std::move(parts));
}

// A loop that carries what it has found.
ValueId BodyLowerer::weights_of_each(ValueId list, const check::Type& element) {
  const Type weights = Type::of(TypeKind::Weights);
  ir::Op op;
  op.kind = OpKind::For;
  op.operands = {b.int_const(0), b.op(OpKind::ListLength, Type::of(TypeKind::Int), {list}),
                 b.op(OpKind::JoinWeights, weights, {})};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(Type::of(TypeKind::Int));
  const ValueId found = b.region_param(weights);
  const ValueId part = b.op(OpKind::ListGet, shared_.type(element), {list, index});
  b.effect(OpKind::Yield, {b.op(OpKind::JoinWeights, weights, {found, weights_in(part, element)})});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(weights);
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

ValueId BodyLowerer::lower(const node::Frozen& node, const ExprView& expr) {
  ir::Op op;
  op.kind = OpKind::FrozenRegion;
  op.operands = {weights(at(node.block))};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  b.effect(OpKind::Yield, {this->expr(node.value)});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

}  // namespace ltr::lower
