// What `.weights` means: those of an object, those below the place of a list, tuple or record that is a member, and for a
// value that has no place those of its parts.
#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Expr;
using check::ExprKind;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

bool has_parts(const check::Type& type) {
  return type.kind == Kind::List || type.kind == Kind::Tuple || type.kind == Kind::Record;
}

}  // namespace

ValueId BodyLowerer::weights(const Expr& expr) {
  const Type type = Type::of(TypeKind::Weights);
  const Expr& base = expr.args[0];
  if (base.type.kind == Kind::Optimizer) return b.op(OpKind::WeightsOfOptimizer, type, {this->expr(base)});
  if (base.kind == ExprKind::List) {
    std::vector<ValueId> parts;
    for (const Expr& part : base.args) {
      if (part.type.kind == Kind::Function) continue;
      Expr one = expr;
      one.args = {part};
      parts.push_back(weights(one));
    }
    return b.op(OpKind::JoinWeights, type, std::move(parts));
  }
  if (has_parts(base.type)) {
    const auto below = place_below(base);
    return below ? b.op(OpKind::WeightsAt, type, {*below}) : weights_in(this->expr(base), base.type);
  }
  const ValueId place = b.op(OpKind::ScopeOf, Type::of(TypeKind::Scope), {this->expr(base)});
  if (!base.type.is_tensor()) return b.op(OpKind::WeightsAt, type, {place});
  // One weight, under its path from the model.
  std::string path = base.name;
  for (const Expr* at = &base.args[0]; at->kind == ExprKind::Member; at = &at->args[0]) path = at->name + "." + path;
  return b.op(OpKind::WeightsAt, type, {place}, "", {{"weight", path}});
}

std::optional<ValueId> BodyLowerer::place_below(const Expr& expr) {
  const Type scope = Type::of(TypeKind::Scope);
  if (expr.kind == ExprKind::Member && expr.whole == 0) {
    const ValueId owner = b.op(OpKind::ScopeOf, scope, {this->expr(expr.args[0])});
    return b.op(OpKind::Place, scope, {owner}, expr.name);
  }
  const bool is_part = expr.kind == ExprKind::RecordField || expr.kind == ExprKind::TupleElement ||
                       expr.kind == ExprKind::ListElement;
  const auto whole = is_part ? place_below(expr.args[0]) : std::nullopt;
  if (!whole) return std::nullopt;
  if (expr.kind == ExprKind::RecordField) return b.op(OpKind::Place, scope, {*whole}, expr.name);
  if (expr.kind == ExprKind::TupleElement)
    return b.op(OpKind::PlaceElement, scope, {*whole, b.int_const(expr.whole)});
  const Expr& at = expr.args[1];
  // From the end it is counted when the length is known, as a value.
  if (at.kind != ExprKind::IntConst || at.whole < 0) return std::nullopt;
  return b.op(OpKind::PlaceElement, scope, {*whole, this->expr(at)});
}

ValueId BodyLowerer::weights_in(ValueId value, const check::Type& type) {
  const Type weights = Type::of(TypeKind::Weights);
  if (type.kind == Kind::Block) {
    return b.op(OpKind::WeightsAt, weights, {b.op(OpKind::ScopeOf, Type::of(TypeKind::Scope), {value})});
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

ValueId BodyLowerer::frozen(const Expr& expr) {
  Expr all;
  all.kind = ExprKind::Weights;
  all.args = {expr.args[1]};
  all.span = expr.span;
  ir::Op op;
  op.kind = OpKind::FrozenRegion;
  op.operands = {weights(all)};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  b.effect(OpKind::Yield, {this->expr(expr.args[0])});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(shared_.type(expr.type));
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

}  // namespace ltr::lower
