// Host values as `print` shows them: as they would be written in `.ltr`.

#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

ValueId BodyLowerer::joined(std::vector<ValueId> parts) {
  const ir::Texts formats(parts.size());
  return b.op(OpKind::Interpolate, Type::of(TypeKind::Str), std::move(parts), "", {{"formats", formats}});
}

ValueId BodyLowerer::element_text(ValueId value, const check::Type& type) {
  if (b.type(value).is(TypeKind::Str)) return joined({b.str_const("\""), value, b.str_const("\"")});
  return text(value, type);
}

// A loop that carries the text so far.
ValueId BodyLowerer::list_text(ValueId list, const check::Type& element) {
  const Type str = Type::of(TypeKind::Str);
  const Type int_type = Type::of(TypeKind::Int);
  ir::Op op;
  op.kind = OpKind::For;
  op.operands = {b.int_const(0), b.op(OpKind::ListLength, int_type, {list}), joined({b.str_const("[")})};
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  const ValueId index = b.region_param(int_type);
  const ValueId before = b.region_param(str);
  const ValueId is_later = b.host(host::Op::Greater, Type::of(TypeKind::Bool), {index, b.int_const(0)});
  const ValueId comma = b.op(OpKind::Choose, str, {is_later, b.str_const(", "), b.str_const("")});
  const ValueId one = b.op(OpKind::ListGet, b.type(list).fields[0].type, {list, index});
  b.effect(OpKind::Yield, {joined({before, comma, element_text(one, element)})});
  b.close();
  op.regions.push_back(std::move(region));
  const ValueId result = b.new_value(str);
  op.results.push_back(result);
  b.append(std::move(op));
  return joined({result, b.str_const("]")});
}

ValueId BodyLowerer::text(ValueId value, const check::Type& type) {
  switch (type.kind) {
    case Kind::List:
      if (b.type(value).is(TypeKind::List))
        return list_text(value, type.fields.empty() ? check::Type::host_int() : type.fields[0].type);
      break;
    case Kind::Range:
      return joined({get_element(value, b.int_const(0), Type::of(TypeKind::Int)), b.str_const(" .. "),
                     get_element(value, b.int_const(1), Type::of(TypeKind::Int))});
    case Kind::None: return b.str_const("none");
    case Kind::Texts: return b.call(library::Id::ShowTexts, Type::of(TypeKind::Str), {value});
    case Kind::Tuple:
    case Kind::Record: break;
    case Kind::Option: {
      const check::Type& inner = type.fields[0].type;
      if (inner.is_tensor()) return value;
      const ValueId is_there = b.host(host::Op::Defined, Type::of(TypeKind::Bool), {value});
      return either(
          is_there, Type::of(TypeKind::Str),
          [&] { return joined({element_text(b.op(OpKind::Convert, shared_.type(inner), {value}), inner)}); },
          [&] { return joined({b.str_const("none")}); });
    }
    default: return value;
  }
  const bool is_list = type.kind == Kind::List;
  std::vector<ValueId> parts = {b.str_const(is_list ? "[" : "(")};
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const check::TypeField& field = type.fields[i];
    const bool is_record = type.kind == Kind::Record;
    parts.push_back(b.str_const((i == 0 ? "" : ", ") + (is_record ? field.name + " = " : "")));
    const Type part = shared_.type(field.type);
    const ValueId one = is_record ? b.op(OpKind::RecordGet, part, {value}, field.name)
                                  : get_element(value, b.int_const(int64_t(i)), part);
    parts.push_back(element_text(one, field.type));
  }
  parts.push_back(b.str_const(is_list ? "]" : ")"));
  return joined(std::move(parts));
}

}  // namespace ltr::lower
