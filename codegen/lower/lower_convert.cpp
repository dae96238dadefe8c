// Host values in the form that a place asks for: parts are converted one by one.

#include "codegen/lower/body.h"

namespace ltr::lower {

using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

ValueId BodyLowerer::fit(ValueId value, const Type& wanted) {
  const Type& have = b.type(value);
  return same_storage(have, wanted) ? value : convert(value, wanted);
}

ValueId BodyLowerer::convert(ValueId value, const Type& to) {
  const Type have = b.type(value);
  const auto part_of = [&](size_t i) {
    if (have.is(TypeKind::Tuple)) return get_element(value, b.int_const(int64_t(i)), have.fields[i].type);
    return b.op(OpKind::RecordGet, have.fields[i].type, {value}, have.fields[i].name);
  };
  if (have.is(TypeKind::None) && to.is(TypeKind::Option)) return b.constant(to, ir::NoneConstant{});
  std::vector<ValueId> parts;
  if (to.is(TypeKind::Record) && have.is(TypeKind::Record)) {
    for (const ir::Field& field : to.fields) {
      for (size_t i = 0; i < have.fields.size(); ++i) {
        if (have.fields[i].name == field.name) parts.push_back(fit(part_of(i), field.type));
      }
    }
    return b.op(OpKind::RecordOf, to, std::move(parts));
  }
  const bool is_mixed = have.is(TypeKind::Tuple);
  if (is_mixed && (to.is(TypeKind::Tuple) || to.is(TypeKind::List))) {
    for (size_t i = 0; i < have.fields.size(); ++i)
      parts.push_back(fit(part_of(i), to.fields[to.is(TypeKind::List) ? 0 : i].type));
    return b.op(to.is(TypeKind::List) ? OpKind::ListOf : OpKind::TupleOf, to, std::move(parts));
  }
  if (to.is(TypeKind::List) && have.is(TypeKind::List) && !same_storage(have, to)) return convert_list(value, to);
  if (to.is(TypeKind::Option) && !have.is(TypeKind::Option) && !have.is(TypeKind::None))
    value = fit(value, to.fields[0].type);
  return b.op(OpKind::Convert, to, {value});
}

ValueId BodyLowerer::convert_list(ValueId list, const Type& to) {
  if (b.type(list).fields[0].type.is(TypeKind::None)) return b.op(OpKind::ListOf, to, {});
  const Type int_type = Type::of(TypeKind::Int);
  ir::Op op;
  op.kind = OpKind::Comprehension;
  op.operands = {b.int_const(0), b.op(OpKind::ListLength, int_type, {list})};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(int_type);
  const ValueId one = b.op(OpKind::ListGet, b.type(list).fields[0].type, {list, index});
  b.effect(OpKind::Yield, {fit(one, to.fields[0].type)});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(to);
  op.results.push_back(result);
  b.append(std::move(op));
  return result;
}

}  // namespace ltr::lower
