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
  if (from.is(TypeKind::Option)) {
    if (cpp::print(cx_.type(from)) == "ltr::Value") return use(id);
    return cpp::ternary(cpp::call(cpp::dot(use(id), "has_value"), {}), cpp::construct(value_type, {cpp::unary("*", use(id))}),
                        cpp::construct(value_type, {}));
  }
  if (from.is(TypeKind::List)) {
    cpp::Stmt loop;
    loop.kind = cpp::StmtKind::For;
    loop.name = "i";
    loop.value = cpp::integer(0);
    loop.limit = cpp::cast(cpp::plain("int64_t"), cpp::call(cpp::dot(cpp::name("items"), "size"), {}));
    cpp::Expr item = cpp::construct(value_type, {cpp::index(cpp::name("items"), cpp::cast(cpp::plain("size_t"), cpp::name("i")))});
    loop.body.push_back(cpp::expression(cpp::call(cpp::dot(cpp::name("values"), "push_back"), {std::move(item)})));
    cpp::Body body = {cpp::declaration(cpp::generic("std::vector", {value_type}), "values"), std::move(loop),
                      cpp::give_back(cpp::call("ltr::Value::list", {cpp::name("values")}))};
    return cpp::call(cpp::lambda({{cpp::const_reference(cx_.type(from)), "items"}}, value_type, std::move(body)), {use(id)});
  }
  return cpp::construct(value_type, {use(id)});
}

/// `{ltr::Argument{name, value, type, location}, …}` of `count` operands.
cpp::Expr FunctionEmitter::arguments(const ir::Op& op, const ir::Texts& names, const ir::Texts& types, size_t& operand,
                                     size_t from, size_t count) {
  std::vector<cpp::Expr> rows;
  for (size_t i = from; i < from + count; ++i) {
    rows.push_back(cpp::braces(cpp::plain("ltr::Argument"),
                               {cpp::string(names[i]), use(op.operands[operand++]), cpp::string(types[i]), cx_.location(op.loc)}));
  }
  return cpp::braces(std::move(rows));
}

cpp::Expr FunctionEmitter::make_call(const ir::Op& op) {
  size_t operand = 0;
  const ir::Texts& names = op.texts("names");
  cpp::Expr list = arguments(op, names, op.texts("types"), operand, 0, names.size());
  return cpp::call("ltr::Value::call", {cpp::string(op.name), std::move(list), cx_.location(op.loc)});
}

cpp::Expr FunctionEmitter::make_optimizer(const ir::Op& op) {
  size_t operand = 3;
  const ir::Texts& names = op.texts("names");
  cpp::Expr settings = arguments(op, names, op.texts("types"), operand, 0, names.size());
  std::vector<cpp::Expr> groups;
  size_t first = 0;
  for (size_t i = 0; i < op.texts("patterns").size(); ++i) {
    const size_t count = size_t(std::stoul(op.texts("group_sizes")[i]));
    cpp::Expr list = arguments(op, op.texts("group_names"), op.texts("group_types"), operand, first, count);
    first += count;
    ir::Loc loc = op.loc;
    const std::string& place = op.texts("group_places")[i];
    loc.line = std::stoi(place);
    loc.column = std::stoi(place.substr(place.find(':') + 1));
    groups.push_back(cpp::braces(cpp::plain("ltr::Group"), {cpp::string(op.texts("patterns")[i]), std::move(list), cx_.location(loc)}));
  }
  return cpp::call(cpp::dot(use(op.operands[0]), "optimizer"),
                   {cpp::string(op.name), use(op.operands[1]), use(op.operands[2]), std::move(settings), cpp::braces(std::move(groups)),
                    cx_.location(op.loc)});
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

namespace {

cpp::Expr dims_of(const std::string& text) {
  std::vector<cpp::Expr> dims;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    dims.push_back(cpp::integer(std::stoll(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return cpp::braces(std::move(dims));
}

}  // namespace

cpp::Expr FunctionEmitter::typed_source(const ir::Op& op) {
  std::vector<cpp::Expr> args = uses(op);
  std::vector<cpp::Expr> fields;
  const ir::Type& stream = type(op.results[0]);
  for (size_t i = 0; i < stream.fields.size(); ++i) {
    fields.push_back(cx_.field_info(op.texts("names")[i], stream.fields[i].type, dims_of(op.texts("dims")[i])));
  }
  args.push_back(cpp::braces(cpp::plain("ltr::Schema"), std::move(fields)));
  return cpp::call(Context::facade_name(op.name), std::move(args));
}

cpp::Expr FunctionEmitter::map_stream(const ir::Op& op) {
  const auto number = size_t(op.number("map"));
  const ir::MapInfo& map = cx_.tables.maps[number];
  std::vector<cpp::Expr> fields;
  for (size_t i = 0; i < map.output.size(); ++i) {
    std::vector<cpp::Expr> dims;
    for (const int64_t dim : map.dims[i]) dims.push_back(cpp::integer(dim));
    fields.push_back(cx_.field_info(map.output[i].name, map.output[i].type, cpp::braces(std::move(dims))));
  }
  cpp::Expr info = cpp::braces(cpp::plain("ltr::MapInfo"), {cpp::unary("&", cpp::name("program::ltr_map_" + std::to_string(number))),
                                                            cpp::braces(cpp::plain("ltr::Schema"), std::move(fields)),
                                                            cpp::boolean(map.random), cpp::string(map.name), cx_.location(op.loc)});
  return cpp::call("ltr::map", {use(op.operands[1]), use(op.operands[0]), std::move(info), use(op.operands[2])});
}

void FunctionEmitter::set_batch(const ir::Op& op) {
  for (const ir::DataInfo& data : cx_.tables.datas) {
    if (data.object != function_.owner) continue;
    std::vector<cpp::Expr> fields;
    for (size_t i = 0; i < data.batch.size(); ++i) {
      fields.push_back(cx_.field_info(data.batch[i].name, data.batch[i].type, use(op.operands[i + 1])));
    }
    push(cpp::assign(cpp::self("batch"), cpp::braces(cpp::plain("ltr::Schema"), std::move(fields))), op.loc);
  }
}

}  // namespace ltr::emit
