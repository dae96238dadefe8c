#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::OpKind;
using ir::Role;
using ir::TypeKind;
using ir::ValueId;

namespace {

/// A tuple of ints, or of such tuples.
bool is_of_ints(const ir::Type& type) {
  return type.is(TypeKind::Tuple) && std::all_of(type.fields.begin(), type.fields.end(), [](const ir::Field& part) {
           return part.type.is(TypeKind::Int) || is_of_ints(part.type);
         });
}

}  // namespace

cpp::Expr FunctionEmitter::library_call(const ir::Op& op) {
  std::vector<cpp::Expr> args = uses(op);
  // Sizes of several axes are one list there.
  for (size_t i = 0; i < args.size(); ++i) {
    if (is_of_ints(type(op.operands[i]))) args[i] = cpp::call("ltr::ints", {std::move(args[i])});
  }
  if (op.function == library::Id::Gradcheck) args.insert(args.begin(), cpp::name("cx"));
  // What is known of a stream belongs to the data that is built; what is decoded is so by the wired data.
  if (op.function == library::Id::Facts || op.function == library::Id::Vocab || op.function == library::Id::Tokenizer)
    args.insert(args.begin(), cpp::unary("*", cpp::name("this")));
  if (op.function == library::Id::DecodeRows) args.insert(args.begin(), cpp::name("cx"));
  if (op.function == library::Id::To) args.push_back(Context::dtype(type(op.results[0]).element));
  if (op.function == library::Id::SliceList) args.push_back(place_of(op));
  return cpp::call(Context::facade_name(std::string(library::info(op.function).name)), std::move(args));
}

// A buffer of a block is written in place, here or in a function that is called, so what is read must be a copy. Buffers
// that only the library writes (running means) are handed to it as they are.
cpp::Expr FunctionEmitter::read_buffer(const ir::Op& op) {
  const ir::Type& object = type(op.operands[0]);
  cpp::Expr buffer = cx_.path(use(op.operands[0]), object, op.name);
  return is_of_block(object, op.name) && cx_.written_buffers.count(op.name.substr(op.name.rfind('.') + 1)) != 0
             ? cpp::call("ltr::clone", {std::move(buffer)})
             : buffer;
}

cpp::Expr FunctionEmitter::call(const ir::Op& op) {
  const ir::Function* callee = cx_.module.find(op.name);
  LTR_INVARIANT(callee != nullptr, "no function " + op.name, op.loc);
  const size_t first = op.kind == OpKind::CallMethod ? 1 : 0;
  std::vector<cpp::Expr> args;
  if (takes_context(callee->role)) args.push_back(cpp::name("cx"));
  for (size_t i = first; i < op.operands.size(); ++i) {
    args.push_back(use_as(op.operands[i], callee->values[callee->body.params[i]].type));
  }
  if (first == 0) return cpp::call(cx_.fn_name(*callee), std::move(args));
  return cpp::call(cpp::arrow(use(op.operands[0]), cx_.fn_name(*callee)), std::move(args));
}

// `world` and the run are known to the settings before there is a context.
cpp::Expr FunctionEmitter::context(const ir::Op& op) {
  std::string field = op.name;
  for (const std::string from : {"batch", "output"}) {
    if (field.starts_with(from + "."))
      return cpp::call("ltr::" + from + "_field", {cpp::name("cx"), cpp::string(field.substr(from.size() + 1))});
  }
  if (field == "optimizer") return cpp::call("ltr::optimizer_of", {cpp::name("cx"), cx_.location(op.loc)});
  if (field == "run.dir") field = "run_dir";
  if (field == "run.name") field = "run_name";
  if (field == "stream") field = "stream_name";
  if (!takes_context(function_.role)) return cpp::call(cpp::dot(cpp::name("settings"), field), {});
  if (is_count(op))
    return cpp::call("ltr::read_count", {cpp::name("cx"), cpp::unary("&", cpp::name("ltr::Context::" + field))});
  return cpp::dot(cpp::name("cx"), field);
}

cpp::Expr FunctionEmitter::slot(const ir::Op& op) {
  return cpp::dot(cpp::name("program::slots_" + Context::identifier(op.text("experiment").substr(1))),
                  Context::identifier(op.name));
}

cpp::Expr FunctionEmitter::make_tensor(const ir::Op& op, const std::string& kind) {
  return cpp::call(cpp::dot(use(op.operands[0]), kind),
                   {cpp::string(op.name), use_as(op.operands[1], type(op.results[0])), cx_.location(op.loc)});
}

cpp::Expr FunctionEmitter::weights_at(const ir::Op& op) {
  if (op.find("weight") == nullptr) return cpp::call("ltr::weights_of", {use(op.operands[0])});
  const ValueId tensor = definition(op.operands[0])->operands[0];
  cpp::Expr weight = cpp::braces(cpp::plain("ltr::Weight"), {cpp::string(op.text("weight")), use(tensor)});
  return cpp::braces(cpp::plain("ltr::Weights"), {std::move(weight)});
}

cpp::Expr FunctionEmitter::join_weights(const ir::Op& op) {
  if (op.operands.empty()) return cpp::braces(cpp::plain("ltr::Weights"), {});
  cpp::Expr joined = use(op.operands[0]);
  for (size_t i = 1; i < op.operands.size(); ++i) joined = cpp::binary("+", std::move(joined), use(op.operands[i]));
  return joined;
}

// Literals alone would bring types of their own: `const char*`, `int`.
cpp::Expr FunctionEmitter::choose(const ir::Op& op) {
  const auto arm = [&](size_t i) {
    cpp::Expr value = use(op.operands[i]);
    return function_.values[op.operands[i]].constant ? cpp::construct(cx_.type(type(op.results[0])), {std::move(value)})
                                                     : value;
  };
  return cpp::ternary(use(op.operands[0]), arm(1), arm(2));
}

/// Of a list, a tuple or a record. The elements of a list have one type.
cpp::Expr FunctionEmitter::aggregate(const ir::Op& op) {
  const ir::Type& whole = type(op.results[0]);
  std::vector<cpp::Expr> items;
  for (size_t i = 0; i < op.operands.size(); ++i)
    items.push_back(use_as(op.operands[i], whole.fields[op.kind == OpKind::ListOf ? 0 : i].type));
  return cpp::braces(cx_.type(whole), std::move(items));
}

cpp::Expr FunctionEmitter::item(const ir::Op& op) {
  const ir::Type& result = type(op.results[0]);
  cpp::Expr item = cpp::call(cpp::dot(use(op.operands[0]), result.is(TypeKind::Int) ? "item_int" : "item"), {});
  return result.is(TypeKind::Bool) ? cpp::binary("!=", std::move(item), cpp::integer(0)) : item;
}

cpp::Expr FunctionEmitter::check_shape(const ir::Op& op) {
  return cpp::call("ltr::check_shape",
                   {use(op.operands[0]), cpp::braces(uses(op, 1)), cpp::string(op.text("text")), cx_.location(op.loc)});
}

cpp::Expr FunctionEmitter::overfit(const ir::Op& op) {
  cpp::Expr pair = cpp::unary("&", cpp::name("program::ltr_pair_" + std::to_string(op.number("pair"))));
  return cpp::call("ltr::overfit",
                   {cpp::name("cx"), cpp::unary("*", use(op.operands[0])), cpp::unary("*", use(op.operands[1])),
                    cpp::braces(cpp::plain("ltr::TrainPair"), {std::move(pair)}), use(op.operands[2])});
}

// One line per op: how its value is written.
cpp::Expr FunctionEmitter::value(const ir::Op& op) {
  if (op.kind == OpKind::CallOp) return library_call(op);
  const auto arg = [&](size_t i) { return use(op.operands[i]); };
  const auto place = [&] { return cx_.location(op.loc); };
  switch (op.kind) {
    case OpKind::Member: return cx_.path(arg(0), type(op.operands[0]), op.name);
    case OpKind::ReadParam: return cpp::call("ltr::use", {cx_.path(arg(0), type(op.operands[0]), op.name)});
    case OpKind::ReadBuffer: return read_buffer(op);
    case OpKind::Place: return cpp::call(cpp::dot(arg(0), "child"), {cpp::string(op.name)});
    case OpKind::PlaceElement: return cpp::call(cpp::dot(arg(0), "element"), {arg(1)});
    case OpKind::ScopeOf: return cpp::arrow(arg(0), "ltr_scope");
    case OpKind::TestRoot: return cpp::call("ltr::test_root", {cpp::name("cx")});
    case OpKind::MakeWeight: return make_tensor(op, "weight");
    case OpKind::MakeBuffer: return make_tensor(op, "buffer");
    case OpKind::MakeOptimizer: return make_optimizer(op);
    case OpKind::WeightsAt: return weights_at(op);
    case OpKind::WeightsOfOptimizer: return cpp::call("ltr::weights_of", {cpp::unary("*", arg(0))});
    case OpKind::JoinWeights: return join_weights(op);
    case OpKind::CallFn:
    case OpKind::CallMethod: return call(op);
    case OpKind::CallExtern: return call_extern(op);
    case OpKind::CheckResult: return check_result(op);
    case OpKind::CallValue: return cpp::call(arg(0), uses(op, 1));
    case OpKind::HostOp: return host(op);
    case OpKind::Choose: return choose(op);
    case OpKind::Equal: return equal(type(op.operands[0]), arg(0), arg(1));
    case OpKind::InList: return in_list(op);
    case OpKind::Convert: return convert(op);
    case OpKind::ListOf:
    case OpKind::TupleOf:
    case OpKind::RecordOf: return aggregate(op);
    case OpKind::ListGet: return cpp::call("ltr::element", {arg(0), arg(1), place_of(op)});
    case OpKind::TupleGet: return cpp::call("std::get<" + std::to_string(op.number("index")) + ">", {arg(0)});
    case OpKind::RecordGet: return cpp::dot(arg(0), Context::identifier(op.name));
    case OpKind::ListLength: return cpp::cast(cpp::plain("int64_t"), cpp::call(cpp::dot(arg(0), "size"), {}));
    case OpKind::ShapeOf: return cpp::call(cpp::dot(arg(0), "shape"), {});
    case OpKind::SizeOf: return cpp::call(cpp::dot(arg(0), "size"), {cpp::integer(op.number("axis"))});
    case OpKind::Item: return item(op);
    case OpKind::Interpolate: return joined_text(op.operands, op.texts("formats"), "");
    case OpKind::ReadHparam: return cpp::dot(cpp::name("program::hparams"), Context::identifier(op.name));
    case OpKind::ReadContext: return context(op);
    case OpKind::ReadSeries: return cpp::call(cpp::dot(cpp::name("cx"), "metric"), {cpp::string(op.name)});
    case OpKind::MakeValue: return make_value(op);
    case OpKind::MakeCall: return cpp::call(cpp::dot(call_rows(op), "as_call"), {cpp::string(op.name), place()});
    case OpKind::FnValue: return cpp::name("nullptr");
    case OpKind::CheckShape: return check_shape(op);
    case OpKind::Due: return cpp::call("ltr::due", {cpp::name("cx"), arg(0), cpp::boolean(op.number("is_end") != 0)});
    case OpKind::Overfit: return overfit(op);
    case OpKind::Setting:
    case OpKind::DeclareHparam:
      return setting(op, ir::Type::of(uses_.count(op.results[0]) != 0 ? TypeKind::Value : TypeKind::Void));
    case OpKind::ReadSlot: return slot(op);
    case OpKind::MapStream: return map_stream(op);
    case OpKind::FilterStream: return filter_stream(op);
    case OpKind::TypedSource: return typed_source(op);
    default: break;
  }
  throw ir::InternalError("no C++ for the value of op " + std::string(op.info().name), op.loc);
}

}  // namespace ltr::emit
