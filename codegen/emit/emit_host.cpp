#include <algorithm>

#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::TypeKind;
using ir::ValueId;

cpp::Expr FunctionEmitter::host(const ir::Op& op) {
  using host::Op;
  if (auto condition = truth(op)) return std::move(*condition);
  const auto arg = [&](size_t i) { return use(op.operands[i]); };
  // Operators that C++ has with the same meaning.
  const auto binary = [&](const char* spelling) {
    cpp::Expr left = arg(0);
    // Two literals would be compared by their addresses.
    if (left.kind == cpp::ExprKind::Str) left = cpp::construct(cpp::plain("ltr::Str"), {std::move(left)});
    return cpp::binary(spelling, std::move(left), arg(1));
  };
  const auto called = [&](const char* function) { return cpp::call(function, uses(op)); };
  // What may fail is computed where its value is read, which may be lines below.
  const auto placed = [&](const char* function) { return cpp::call(function, {arg(0), arg(1), place_of(op)}); };
  const auto rounded = [&](const char* function) { return cpp::call("ltr::whole", {called(function), place_of(op)}); };
  const bool is_int = type(op.operands[0]).is(TypeKind::Int);
  switch (op.host) {
    case Op::Add: return is_int ? placed("ltr::int_add") : binary("+");
    case Op::Sub: return is_int ? placed("ltr::int_sub") : binary("-");
    case Op::Mul: return is_int ? placed("ltr::int_mul") : binary("*");
    case Op::Div: return is_int ? placed("ltr::exact_div") : binary("/");
    case Op::FloorDiv: return placed("ltr::floor_div");
    case Op::CeilDiv: return placed("ltr::ceil_div");
    case Op::Mod: return is_int ? placed("ltr::mod") : called("ltr::real_mod");
    case Op::Power: return type(op.results[0]).is(TypeKind::Int) ? placed("ltr::int_pow") : called("ltr::real_pow");
    case Op::Neg:
      return is_int ? cpp::call("ltr::int_sub", {cpp::integer(0), arg(0), place_of(op)}) : cpp::unary("-", arg(0));
    case Op::Equal: return binary("==");
    case Op::NotEqual: return binary("!=");
    case Op::Less: return binary("<");
    case Op::LessEqual: return binary("<=");
    case Op::Greater: return binary(">");
    case Op::GreaterEqual: return binary(">=");
    case Op::And: return binary("&&");
    case Op::Or: return binary("||");
    case Op::Not: return cpp::unary("!", arg(0));
    case Op::Defined: return defined(op.operands[0]);
    case Op::Min: return called(is_int ? "std::min<int64_t>" : "std::min<double>");
    case Op::Max: return called(is_int ? "std::max<int64_t>" : "std::max<double>");
    case Op::Abs: return is_int ? cpp::call("ltr::int_abs", {arg(0), place_of(op)}) : called("__builtin_fabs");
    case Op::Floor: return rounded("__builtin_floor");
    case Op::Ceil: return rounded("__builtin_ceil");
    case Op::Round:
      return rounded("__builtin_nearbyint");  // Halves go to the even number, as in PyTorch.
    // Functions of doubles, by the compiler's own names: no header is needed.
    case Op::Sqrt: return called("__builtin_sqrt");
    case Op::Exp: return called("__builtin_exp");
    case Op::Log: return called("__builtin_log");
    case Op::Log1p: return called("__builtin_log1p");
    case Op::Sin: return called("__builtin_sin");
    case Op::Cos: return called("__builtin_cos");
    case Op::Tanh: return called("__builtin_tanh");
    case Op::Erf: return called("__builtin_erf");
    case Op::Pow: return called("__builtin_pow");
  }
  throw ir::InternalError("no C++ for host op " + std::string(host::info(op.host).name), op.loc);
}

cpp::Expr FunctionEmitter::place_of(const ir::Op& op) {
  const bool is_said = cx_.is_users(op.loc) && !function_.is_library;
  return is_said ? cx_.location(op.loc) : cpp::call("ltr::current_location", {});
}

cpp::Expr FunctionEmitter::defined(ValueId id) {
  const ir::Type& operand = type(id);
  const bool is_tensor = operand.is_tensor() || (operand.is(TypeKind::Option) && operand.fields[0].type.is_tensor());
  if (is_none(id)) return cpp::boolean(false);
  if (!is_tensor && !operand.is(TypeKind::Option)) return cpp::boolean(true);
  return cpp::call(cpp::dot(use(id), is_tensor ? "defined" : "has_value"), {});
}

cpp::Expr FunctionEmitter::convert(const ir::Op& op) {
  const ValueId id = op.operands[0];
  const ir::Type& from = type(id);
  const ir::Type& to = type(op.results[0]);
  const ir::Op* declared = definition(id);
  const bool is_declared =
      declared != nullptr && (declared->kind == ir::OpKind::Setting || declared->kind == ir::OpKind::DeclareHparam);
  if (is_declared && values_.count(id) == 0) {
    const bool is_plain = to.is_host_number() || to.is(TypeKind::Str);
    if (is_plain) return setting(*declared, to);
    const std::string name = name_of(id);
    push(cpp::variable(cpp::constant(cpp::plain("ltr::Value")), name, setting(*declared, from)), declared->loc);
    values_[id] = cpp::name(name);
  }
  cpp::Expr value = use_as(id, to);
  if (from.is(TypeKind::Value)) return cx_.read_value(std::move(value), to);
  if (to.is(TypeKind::Float) && from.is(TypeKind::Int)) return cpp::cast(cpp::plain("double"), std::move(value));
  if (to.is_tensor() && (from.is_host_number() || from.is(TypeKind::List))) {
    if (function_.values[id].constant) value = cpp::construct(cx_.type(from), {std::move(value)});
    return cpp::call("ltr::tensor_of", {std::move(value), Context::dtype(to.element)});
  }
  if (to.is(TypeKind::List) && from.is(TypeKind::List) && cpp::print(cx_.type(to)) != cpp::print(cx_.type(from))) {
    return cpp::construct(cx_.type(to),
                          {cpp::call(cpp::dot(value, "begin"), {}), cpp::call(cpp::dot(value, "end"), {})});
  }
  // A literal has a type of C++'s choice; what an option holds has ours.
  // What stands behind the test of a lone none is never run, and has a type all the same.
  if (function_.values[id].constant && (to.is_host_number() || to.is(TypeKind::Str)))
    return cpp::construct(cx_.type(to),
                          is_none(id) ? std::vector<cpp::Expr>{} : std::vector<cpp::Expr>{std::move(value)});
  const bool unwraps =
      from.is(TypeKind::Option) && !to.is(TypeKind::Option) && cpp::print(cx_.type(to)) != cpp::print(cx_.type(from));
  return unwraps ? cpp::unary("*", std::move(value)) : value;
}

namespace {

/// Whether C++ compares values of this type as the language does: no records and no tensors are in it.
bool has_equality(const ir::Type& type) {
  if (type.is_tensor() || type.is(TypeKind::Record)) return false;
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const ir::Field& field) { return has_equality(field.type); });
}

/// `body` for each place `i` of `list`.
cpp::Stmt for_each(const cpp::Expr& list, cpp::Body body) {
  cpp::Stmt loop;
  loop.kind = cpp::StmtKind::For;
  loop.name = "i";
  loop.value = cpp::integer(0);
  loop.limit = cpp::cast(cpp::plain("int64_t"), cpp::call(cpp::dot(list, "size"), {}));
  loop.body = std::move(body);
  return loop;
}

}  // namespace

// Tuples and records are compared part by part, because tensors in them are no bool under `==`.
cpp::Expr FunctionEmitter::equal(const ir::Type& type, const cpp::Expr& left, const cpp::Expr& right) {
  if (type.is_tensor()) return cpp::call("ltr::equal", {left, right});
  if (type.is(TypeKind::Tuple) || type.is(TypeKind::Record)) {
    cpp::Expr all = cpp::boolean(true);
    for (size_t i = 0; i < type.fields.size(); ++i) {
      const auto part = [&](const cpp::Expr& whole) {
        return type.is(TypeKind::Record) ? cpp::dot(whole, Context::identifier(type.fields[i].name))
                                         : cpp::call("std::get<" + std::to_string(i) + ">", {whole});
      };
      cpp::Expr same = equal(type.fields[i].type, part(left), part(right));
      all = i == 0 ? std::move(same) : cpp::binary("&&", std::move(all), std::move(same));
    }
    return all;
  }
  if (type.is(TypeKind::List) && !has_equality(type)) {
    const cpp::Type list = cpp::const_reference(cx_.type(type));
    const cpp::Expr a = cpp::name("a"), b = cpp::name("b"), at = cpp::cast(cpp::plain("size_t"), cpp::name("i"));
    const auto size = [](const cpp::Expr& whole) { return cpp::call(cpp::dot(whole, "size"), {}); };
    cpp::Expr same = equal(type.fields[0].type, cpp::index(a, at), cpp::index(b, at));
    cpp::Body differs = {cpp::branch(cpp::unary("!", std::move(same)), {cpp::give_back(cpp::boolean(false))})};
    return cpp::call(
        cpp::lambda({{list, "a"}, {list, "b"}}, cpp::plain("bool"),
                    {cpp::branch(cpp::binary("!=", size(a), size(b)), {cpp::give_back(cpp::boolean(false))}),
                     for_each(a, std::move(differs)), cpp::give_back(cpp::boolean(true))}),
        {left, right});
  }
  if (type.is(TypeKind::Option) && !has_equality(type)) {
    const cpp::Type option = cpp::const_reference(cx_.type(type));
    const cpp::Expr a = cpp::name("a"), b = cpp::name("b");
    const auto of = [](const cpp::Expr& whole, const char* what) { return cpp::call(cpp::dot(whole, what), {}); };
    const cpp::Expr differ = cpp::binary("!=", of(a, "has_value"), of(b, "has_value"));
    return cpp::call(
        cpp::lambda({{option, "a"}, {option, "b"}}, cpp::plain("bool"),
                    {cpp::branch(differ, {cpp::give_back(cpp::boolean(false))}),
                     cpp::branch(cpp::unary("!", of(a, "has_value")), {cpp::give_back(cpp::boolean(true))}),
                     cpp::give_back(equal(type.fields[0].type, of(a, "value"), of(b, "value")))}),
        {left, right});
  }
  const bool is_literal = left.kind == cpp::ExprKind::Str;
  return cpp::binary("==", is_literal ? cpp::construct(cpp::plain("ltr::Str"), {left}) : left, right);
}

cpp::Expr FunctionEmitter::in_list(const ir::Op& op) {
  const cpp::Expr items = cpp::name("items");
  const cpp::Expr one = cpp::index(items, cpp::cast(cpp::plain("size_t"), cpp::name("i")));
  cpp::Stmt loop = for_each(
      items, {cpp::branch(equal(type(op.operands[0]), one, cpp::name("item")), {cpp::give_back(cpp::boolean(true))})});
  const cpp::Type list = cx_.type(type(op.operands[1]));
  cpp::Expr search = cpp::lambda(
      {{cpp::const_reference(cx_.type(type(op.operands[0]))), "item"}, {cpp::const_reference(list), "items"}},
      cpp::plain("bool"), {std::move(loop), cpp::give_back(cpp::boolean(false))});
  return cpp::call(std::move(search), uses(op));
}

/// The text of one value by itself.
cpp::Expr FunctionEmitter::text_of(ValueId id, const std::string& format) {
  std::vector<cpp::Expr> part = text_part(id, format);
  const bool is_literal = part.size() == 1 && part[0].kind == cpp::ExprKind::Str;
  return is_literal ? cpp::construct(cpp::plain("ltr::Str"), std::move(part))
                    : cpp::call("ltr::text_of", std::move(part));
}

/// What a text is made of: a literal stays one; everything else is a value that the runtime writes by `format`.
std::vector<cpp::Expr> FunctionEmitter::text_part(ValueId id, const std::string& format) {
  const auto& constant = function_.values[id].constant;
  if (is_none(id)) return {cpp::string("none")};
  cpp::Expr value = use(id);
  if (constant && std::holds_alternative<std::string>(*constant) && format.empty()) return {std::move(value)};
  // `3` and `"x"` would fit several overloads.
  if (constant) value = cpp::construct(cx_.type(type(id)), {std::move(value)});
  if (format.empty()) return {std::move(value)};
  return {std::move(value), cpp::string(format)};
}

/// The values of `ids`, by their `formats` if there are such, with `between` between them.
cpp::Expr FunctionEmitter::joined_text(const std::vector<ValueId>& ids, const ir::Texts& formats,
                                       const std::string& between) {
  if (ids.empty()) return cpp::construct(cpp::plain("ltr::Str"), {cpp::string("")});
  if (ids.size() == 1) return text_of(ids[0], formats.empty() ? "" : formats[0]);
  cpp::Expr text = cpp::construct(cpp::plain("ltr::Text"), {});
  const auto add = [&](std::vector<cpp::Expr> part) {
    text = cpp::call(cpp::dot(std::move(text), "add"), std::move(part));
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && !between.empty()) add({cpp::string(between)});
    add(text_part(ids[i], i < formats.size() ? formats[i] : ""));
  }
  return cpp::call(cpp::dot(std::move(text), "take"), {});
}

}  // namespace ltr::emit
