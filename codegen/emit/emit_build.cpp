#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::OpKind;
using ir::Role;
using ir::TypeKind;
using ir::ValueId;

cpp::Expr FunctionEmitter::make_value(const ir::Op& op) {
  const std::string& kind = op.text("kind");
  const cpp::Type value_type = cpp::plain("ltr::Value");
  if (kind == "none") return cpp::construct(value_type, {});
  if (kind == "list" || kind == "tuple") return cpp::call("ltr::Value::" + kind, {cpp::braces(uses(op))});
  const ValueId id = op.operands[0];
  if (kind != "plain") return cpp::call("ltr::Value::" + kind, {use(id)});
  const ir::Type& from = type(id);
  if (is_none(id)) return cpp::construct(value_type, {});
  if (cpp::print(cx_.type(from)) == "ltr::Value") return use(id);
  if (from.is_host_number() || from.is(TypeKind::Str)) return cpp::construct(value_type, {use(id)});
  cx_.give_parts(from);
  return cpp::call("ltr::value_of", {use_as(id, from)});
}

/// One more row behind `rows`. A value of a known form is given as what it is.
cpp::Expr FunctionEmitter::row(cpp::Expr rows, const std::string& name, const std::string& type_text,
                               const ir::Loc& loc, ValueId id) {
  std::vector<cpp::Expr> args = {cpp::string(name), cpp::string(type_text), cx_.location(loc)};
  std::string method = "add";
  const ir::Op* made = definition(id);
  if (is_none(id)) {
    method = "none";
  } else if (made != nullptr && made->kind == OpKind::MakeCall) {
    method = "call";
    args.push_back(cpp::string(made->name));
    args.push_back(cpp::call(cpp::dot(call_rows(*made), "rows"), {}));
  } else if (made != nullptr && made->kind == OpKind::MakeValue) {
    const std::string& kind = made->text("kind");
    const ir::Type plain = made->operands.empty() ? ir::Type{} : type(made->operands[0]);
    if (kind == "none") {
      method = "none";
    } else if (kind == "list" || kind == "tuple" ||
               (kind == "plain" && !plain.is_host_number() && !plain.is(TypeKind::Str))) {
      args.push_back(make_value(*made));
    } else {
      if (kind != "plain") method = kind;
      args.push_back(use(made->operands[0]));
    }
  } else {
    args.push_back(use(id));
  }
  return cpp::call(cpp::dot(std::move(rows), method), std::move(args));
}

cpp::Expr FunctionEmitter::arguments(cpp::Expr rows, const ir::Op& op, size_t first) {
  const ir::Texts &names = op.texts("names"), &types = op.texts("types");
  for (size_t i = 0; i < names.size(); ++i)
    rows = row(std::move(rows), names[i], types[i], op.loc, op.operands[first + i]);
  return rows;
}

cpp::Expr FunctionEmitter::call_rows(const ir::Op& call) {
  return arguments(cpp::construct(cpp::plain("ltr::build::Arguments"), {}), call, 0);
}

/// The declaration of a setting or hparam, read as `wanted`; void: not read.
cpp::Expr FunctionEmitter::setting(const ir::Op& op, const ir::Type& wanted) {
  const bool is_hparam = op.kind == OpKind::DeclareHparam;
  cpp::Expr rows = row(cpp::construct(cpp::plain("ltr::build::Arguments"), {}), is_hparam ? "" : op.name,
                       is_hparam ? "" : op.text("type"), op.loc, op.operands[0]);
  std::vector<cpp::Expr> args = {cpp::name("settings")};
  if (is_hparam) {
    if (!is_none(op.operands[1])) rows = row(std::move(rows), "", "", op.loc, op.operands[1]);
    size_t index = 0;
    while (index < cx_.tables.hparams.size() && cx_.tables.hparams[index].name != op.name) ++index;
    args.push_back(cpp::index(cpp::name("program::ltr_hparams"), cpp::integer(int64_t(index))));
  }
  std::string method = is_hparam ? "hparam" : wanted.is(TypeKind::Void) ? "declare" : "get";
  if (wanted.is_host_number() || wanted.is(TypeKind::Str)) method += "_" + std::string(ir::to_text(wanted.kind));
  return cpp::call(cpp::dot(std::move(rows), method), std::move(args));
}

cpp::Expr FunctionEmitter::make_optimizer(const ir::Op& op) {
  const ir::Op* rule = definition(op.operands[1]);
  LTR_INVARIANT(rule != nullptr && rule->kind == OpKind::MakeCall, "an optimizer's rule is no call", op.loc);
  const std::string name = "build_" + Context::identifier(op.name);
  const cpp::Expr builder = cpp::name(name);
  push(cpp::object(cpp::plain("ltr::build::OptimizerBuilder"), name, {}), op.loc);
  const auto add = [&](const char* field, const ir::Op& from, size_t first) {
    if (from.texts("names").empty()) return;
    push(cpp::expression(arguments(cpp::dot(builder, field), from, first)), op.loc);
  };
  add("rule", *rule, 0);
  add("settings", op, 3);
  for (size_t i = 3 + op.texts("names").size(); i < op.operands.size(); ++i) {
    const ir::Op* group = definition(op.operands[i]);
    LTR_INVARIANT(group != nullptr && group->kind == OpKind::MakeGroup, "an optimizer's group is none", op.loc);
    push(cpp::expression(cpp::call(cpp::dot(builder, "group"),
                                   {cpp::string(group->text("pattern")),
                                    cpp::call(cpp::dot(call_rows(*group), "rows"), {}), cx_.location(group->loc)})),
         op.loc);
  }
  return cpp::call(cpp::dot(builder, "make"), {use(op.operands[0]), cpp::string(op.name), cpp::string(rule->name),
                                               cx_.location(rule->loc), use(op.operands[2]), cx_.location(op.loc)});
}

// Blocks belong to their root, data to the runtime; what a test builds lives on its stack.
void FunctionEmitter::construct(const ir::Op& op, const ir::Op* next) {
  const ir::ObjectInfo& object = cx_.object(op.name);
  const cpp::Type built = cpp::plain(cx_.struct_name(op.name));
  const bool has_place = object.kind == TypeKind::Block || object.kind == TypeKind::Model;
  const size_t first = object.kind == TypeKind::Block ? 1 : object.kind == TypeKind::Model ? 2 : 0;
  std::vector<cpp::Expr> args;
  if (object.kind == TypeKind::Model) args.push_back(use(op.operands[1]));
  for (size_t i = first; i < op.operands.size(); ++i) {
    const ir::Type& wanted = object.params[i - first].type;
    cpp::Expr arg = use_as(op.operands[i], wanted);
    // One instance of the template for all calls: a literal would bring its own type.
    const bool is_literal = arg.kind == cpp::ExprKind::Int || arg.kind == cpp::ExprKind::Str;
    args.push_back(is_literal ? cpp::construct(cx_.type(wanted), {std::move(arg)}) : std::move(arg));
  }
  if (has_place) {
    args.insert(args.begin(), {use(op.operands[0]), cpp::string(object.shown)});
    return give(op, cpp::call(cpp::templated("ltr::Scope::make", built), std::move(args)), next);
  }
  if (function_.role == Role::MakeData || function_.role == Role::MetricMaker) {
    values_[op.results[0]] = cpp::make_new(built, std::move(args));
    return;
  }
  const std::string name = name_of(op.results[0]);
  push(cpp::object(built, name, std::move(args)), op.loc);
  values_[op.results[0]] = cpp::unary("&", cpp::name(name));
}

cpp::Expr FunctionEmitter::fields(const std::vector<ir::Field>& fields) {
  std::vector<std::vector<cpp::Expr>> sizes(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    for (const ir::DimId dim : fields[i].type.dims)
      sizes[i].push_back(cpp::integer(cx_.module.dims.constant(dim).value_or(-1)));
  }
  return this->fields(fields, std::move(sizes));
}

cpp::Expr FunctionEmitter::fields(const std::vector<ir::Field>& fields, std::vector<std::vector<cpp::Expr>> sizes) {
  cpp::Expr out = cpp::construct(cpp::plain("ltr::build::Fields"), {});
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_option = fields[i].type.is(TypeKind::Option);
    const ir::Type& field = is_option ? fields[i].type.fields[0].type : fields[i].type;
    const bool is_texts = field.is_tensor() && field.element == ir::Element::Str;
    if (is_texts) sizes[i].push_back(cpp::integer(-1));
    const char* host = field.is(TypeKind::Int)                               ? "int"
                       : field.is(TypeKind::Float)                           ? "float"
                       : field.is(TypeKind::Bool)                            ? "bool"
                       : field.is(TypeKind::Str) || field.is(TypeKind::List) ? "str"
                                                                             : "";
    cpp::Expr element = Context::dtype(field.is_tensor() ? field.element : ir::Element::Float);
    std::vector<cpp::Expr> args = {cpp::string(fields[i].name), std::move(element), cpp::string(host),
                                   cpp::braces(std::move(sizes[i]))};
    if (is_option || is_texts)
      args.push_back(cpp::name(is_option ? "ltr::FieldForm::Option" : "ltr::FieldForm::Texts"));
    out = cpp::call(cpp::dot(std::move(out), "add"), std::move(args));
  }
  return out;
}

cpp::Expr FunctionEmitter::typed_source(const ir::Op& op) {
  std::vector<cpp::Expr> args = uses(op);
  args.push_back(cpp::call(cpp::dot(fields(type(op.results[0]).fields), "schema"), {}));
  return cpp::call("ltr::" + op.name, std::move(args));
}

cpp::Expr FunctionEmitter::map_stream(const ir::Op& op) {
  const auto number = size_t(op.number("map"));
  const ir::MapInfo& map = cx_.tables.maps[number];
  const cpp::Expr skip_bad = op.operands.size() > 2 ? use(op.operands[2]) : cpp::name("std::nullopt");
  return cpp::call("ltr::build::map",
                   {use(op.operands[1]), use(op.operands[0]),
                    cpp::unary("&", cpp::name("program::ltr_map_" + std::to_string(number))), fields(map.output),
                    cpp::boolean(map.random), cpp::string(map.name), skip_bad, cx_.location(op.loc)});
}

cpp::Expr FunctionEmitter::filter_stream(const ir::Op& op) {
  const auto number = size_t(op.number("map"));
  return cpp::call("ltr::build::filter", {use(op.operands[1]), use(op.operands[0]),
                                          cpp::unary("&", cpp::name("program::ltr_map_" + std::to_string(number))),
                                          cpp::string(cx_.tables.maps[number].name), cx_.location(op.loc)});
}

void FunctionEmitter::set_batch(const ir::Op& op) {
  for (const ir::DataInfo& data : cx_.tables.datas) {
    if (data.object != function_.owner) continue;
    std::vector<ir::Field> schema;
    std::vector<std::vector<cpp::Expr>> sizes;
    for (size_t i = 0; i < data.batch.size(); ++i) {
      schema.push_back({data.batch[i].name, data.batch[i].type});
      const ir::Op* list = definition(op.operands[i + 1]);
      LTR_INVARIANT(list != nullptr && list->kind == OpKind::ListOf, "the dims of a batch field are no list", op.loc);
      sizes.push_back(uses(*list));
    }
    push(cpp::expression(cpp::call("ltr::build::set_batch",
                                   {cpp::unary("*", cpp::name("this")), fields(schema, std::move(sizes))})),
         op.loc);
  }
}

}  // namespace ltr::emit
