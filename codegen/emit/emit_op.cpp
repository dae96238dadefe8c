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

/// Of the kind in `ltr::LoadRule`.
std::string cpp_name(NameRule::Kind kind) {
  switch (kind) {
    case NameRule::Kind::Rename: return "Rename";
    case NameRule::Kind::Skip: return "Skip";
    case NameRule::Kind::Freeze: return "Freeze";
  }
  return "";
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
  if (op.function == library::Id::Facts || op.function == library::Id::Vocab)
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
  const bool in_place = object.is(TypeKind::Block) || object.is(TypeKind::Model);
  return in_place && cx_.written_buffers.count(op.name.substr(op.name.rfind('.') + 1)) != 0
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
  // What changes while a run goes on is read where a recorder may listen.
  if (field == "epoch" || field == "global_step" || field == "batch_index" || field == "batch_size")
    return cpp::call("ltr::read_count", {cpp::name("cx"), cpp::unary("&", cpp::name("ltr::Context::" + field))});
  return cpp::dot(cpp::name("cx"), field);
}

cpp::Expr FunctionEmitter::slot(const ir::Op& op) {
  return cpp::dot(cpp::name("program::slots_" + Context::identifier(op.text("experiment").substr(1))),
                  Context::identifier(op.name));
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
    case OpKind::MakeWeight:
      return cpp::call(cpp::dot(arg(0), "weight"),
                       {cpp::string(op.name), use_as(op.operands[1], type(op.results[0])), place()});
    case OpKind::MakeBuffer:
      return cpp::call(cpp::dot(arg(0), "buffer"),
                       {cpp::string(op.name), use_as(op.operands[1], type(op.results[0])), place()});
    case OpKind::MakeOptimizer: return make_optimizer(op);
    case OpKind::WeightsAt: {
      if (op.find("weight") == nullptr) return cpp::call("ltr::weights_of", {arg(0)});
      const ValueId tensor = definition(op.operands[0])->operands[0];
      cpp::Expr weight = cpp::braces(cpp::plain("ltr::Weight"), {cpp::string(op.text("weight")), use(tensor)});
      return cpp::braces(cpp::plain("ltr::Weights"), {std::move(weight)});
    }
    case OpKind::WeightsOfOptimizer: return cpp::call("ltr::weights_of", {cpp::unary("*", arg(0))});
    case OpKind::JoinWeights: {
      if (op.operands.empty()) return cpp::braces(cpp::plain("ltr::Weights"), {});
      cpp::Expr joined = arg(0);
      for (size_t i = 1; i < op.operands.size(); ++i) joined = cpp::binary("+", std::move(joined), arg(i));
      return joined;
    }
    case OpKind::CallFn:
    case OpKind::CallMethod: return call(op);
    case OpKind::CallExtern: return call_extern(op);
    case OpKind::CheckResult: return check_result(op);
    case OpKind::CallValue: return cpp::call(arg(0), uses(op, 1));
    case OpKind::HostOp: return host(op);
    case OpKind::Choose: {
      // Literals alone would bring types of their own: `const char*`, `int`.
      const auto arm = [&](size_t i) {
        cpp::Expr value = arg(i);
        return function_.values[op.operands[i]].constant
                   ? cpp::construct(cx_.type(type(op.results[0])), {std::move(value)})
                   : value;
      };
      return cpp::ternary(arg(0), arm(1), arm(2));
    }
    case OpKind::Equal: return equal(type(op.operands[0]), arg(0), arg(1));
    case OpKind::InList: return in_list(op);
    case OpKind::Convert: return convert(op);
    case OpKind::ListOf: {
      std::vector<cpp::Expr> items;
      for (const ValueId id : op.operands) items.push_back(use_as(id, type(op.results[0]).fields[0].type));
      return cpp::braces(cx_.type(type(op.results[0])), std::move(items));
    }
    case OpKind::TupleOf: {
      std::vector<cpp::Expr> items;
      for (size_t i = 0; i < op.operands.size(); ++i)
        items.push_back(use_as(op.operands[i], type(op.results[0]).fields[i].type));
      return cpp::braces(cx_.type(type(op.results[0])), std::move(items));
    }
    case OpKind::RecordOf: {
      std::vector<cpp::Expr> items;
      for (size_t i = 0; i < op.operands.size(); ++i)
        items.push_back(use_as(op.operands[i], type(op.results[0]).fields[i].type));
      return cpp::braces(cx_.type(type(op.results[0])), std::move(items));
    }
    case OpKind::ListGet: return cpp::call("ltr::element", {arg(0), arg(1), place_of(op)});
    case OpKind::TupleGet: return cpp::call("std::get<" + std::to_string(op.number("index")) + ">", {arg(0)});
    case OpKind::RecordGet: return cpp::dot(arg(0), Context::identifier(op.name));
    case OpKind::ListLength: return cpp::cast(cpp::plain("int64_t"), cpp::call(cpp::dot(arg(0), "size"), {}));
    case OpKind::ShapeOf: return cpp::call(cpp::dot(arg(0), "shape"), {});
    case OpKind::SizeOf: return cpp::call(cpp::dot(arg(0), "size"), {cpp::integer(op.number("axis"))});
    case OpKind::Item: {
      const ir::Type& result = type(op.results[0]);
      cpp::Expr item = cpp::call(cpp::dot(arg(0), result.is(TypeKind::Int) ? "item_int" : "item"), {});
      return result.is(TypeKind::Bool) ? cpp::binary("!=", std::move(item), cpp::integer(0)) : item;
    }
    case OpKind::Interpolate: return joined_text(op.operands, op.texts("formats"), "");
    case OpKind::ReadHparam: return cpp::dot(cpp::name("program::hparams"), Context::identifier(op.name));
    case OpKind::ReadContext: return context(op);
    case OpKind::ReadSeries: return cpp::call(cpp::dot(cpp::name("cx"), "metric"), {cpp::string(op.name)});
    case OpKind::MakeValue: return make_value(op);
    case OpKind::MakeCall: return cpp::call(cpp::dot(call_rows(op), "as_call"), {cpp::string(op.name), place()});
    case OpKind::FnValue: return cpp::name("nullptr");
    case OpKind::CheckShape: {
      std::vector<cpp::Expr> dims;
      for (size_t i = 1; i < op.operands.size(); ++i) dims.push_back(arg(i));
      return cpp::call("ltr::check_shape",
                       {arg(0), cpp::braces(std::move(dims)), cpp::string(op.text("text")), place()});
    }
    case OpKind::Due: return cpp::call("ltr::due", {cpp::name("cx"), arg(0), cpp::boolean(op.number("is_end") != 0)});
    case OpKind::Overfit:
      return cpp::call(
          "ltr::overfit",
          {cpp::name("cx"), cpp::unary("*", arg(0)), cpp::unary("*", arg(1)),
           cpp::braces(cpp::plain("ltr::TrainPair"),
                       {cpp::unary("&", cpp::name("program::ltr_pair_" + std::to_string(op.number("pair"))))}),
           arg(2)});
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

void FunctionEmitter::statement(const ir::Op& op) {
  const auto arg = [&](size_t i) { return use(op.operands[i]); };
  const auto place = [&] { return cx_.location(op.loc); };
  const auto cx_call = [&](const std::string& method, std::vector<cpp::Expr> args) {
    push(cpp::expression(cpp::call(cpp::dot(cpp::name("cx"), method), std::move(args))), op.loc);
  };
  const auto settings_call = [&](const std::string& method, std::vector<cpp::Expr> args) {
    push(cpp::expression(cpp::call(cpp::dot(cpp::name("settings"), method), std::move(args))), op.loc);
  };
  switch (op.kind) {
    case OpKind::SetMember: return push(cpp::assign(cx_.path(arg(0), type(op.operands[0]), op.name), arg(1)), op.loc);
    case OpKind::WriteBuffer: {
      // Buffers of blocks are registered, so the tensor stays and its elements change.
      const bool in_place = type(op.operands[0]).is(TypeKind::Block) || type(op.operands[0]).is(TypeKind::Model);
      cpp::Expr target = cx_.path(arg(0), type(op.operands[0]), op.name);
      if (in_place) return push(cpp::expression(cpp::call("ltr::assign", {std::move(target), arg(1)})), op.loc);
      return push(cpp::assign(std::move(target), arg(1)), op.loc);
    }
    case OpKind::SeedWeight:
      return push(cpp::expression(cpp::call(cpp::dot(arg(0), "seed"), {cpp::string(op.name)})), op.loc);
    case OpKind::MakeInit: {
      const ir::Function* init = cx_.module.find(op.text("fn"));
      LTR_INVARIANT(init != nullptr, "no function " + op.text("fn"), op.loc);
      cpp::Expr fn = cpp::unary("&", cpp::name(cx_.struct_name(init->owner) + "::" + cx_.fn_name(*init)));
      return push(cpp::expression(cpp::call(cpp::dot(arg(0), "init"),
                                            {cpp::string(op.text("pattern")), std::move(fn), arg(1), place()})),
                  op.loc);
    }
    case OpKind::LoadWeights: {
      std::vector<cpp::Expr> rules;
      for (const NameRule& rule : op.name_rules("rules")) {
        rules.push_back(cpp::braces({cpp::name("ltr::LoadRule::" + cpp_name(rule.kind)), cpp::string(rule.pattern),
                                     cpp::string(rule.replacement)}));
      }
      return push(
          cpp::expression(cpp::call("ltr::load_weights", {arg(0), arg(1), cpp::braces(std::move(rules)), place()})),
          op.loc);
    }
    case OpKind::MakeMetric: return make_metric(op);
    case OpKind::CallMetric: return call_metric(op);
    case OpKind::Assert: {
      cpp::Expr text = op.operands.size() > 1 ? arg(1) : cpp::string(op.text("text"));
      cpp::Body fail = {cpp::expression(cpp::call("ltr::fail_assert", {std::move(text), place()}))};
      return push(cpp::branch(cpp::unary("!", arg(0)), std::move(fail)), op.loc);
    }
    case OpKind::Print: return cx_call("print", {joined_text(op.operands, {}, " ")});
    case OpKind::Minimize:
      return cx_call("minimize", {arg(0), cpp::unary("*", arg(1)), cpp::boolean(op.number("last") != 0), place()});
    case OpKind::Backward: return cx_call("backward", {arg(0), place()});
    case OpKind::LogValue: return log_value(op);
    case OpKind::Trainer: return cx_call(std::string(op.target()), uses(op));
    case OpKind::CheckHparam: {
      cpp::Expr fits = cpp::name("nullptr");
      for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
        if (hparam.name == op.name && !hparam.fits.empty() && hparam.type.is(TypeKind::Int))
          fits = cpp::unary("&", cpp::name("program::" + Context::identifier(hparam.fits)));
      }
      return settings_call("check_hparam", {cpp::string(op.name), arg(0), std::move(fits)});
    }
    case OpKind::CheckSetting: {
      for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
        if (hparam.name != op.text("hparam")) continue;
        cpp::Expr holds = cpp::call("program::" + Context::identifier(hparam.fits), {arg(0)});
        return settings_call("check_setting", {cpp::string(op.name), cpp::string(hparam.name), std::move(holds)});
      }
      return;
    }
    case OpKind::SetHparam:
      return push(cpp::assign(cpp::dot(cpp::name("program::hparams"), Context::identifier(op.name)), arg(0)), op.loc);
    case OpKind::SetSlot: return push(cpp::assign(slot(op), arg(0)), op.loc);
    case OpKind::Oblige: {
      std::vector<cpp::Expr> hparams;
      for (const std::string& name : op.texts("hparams")) hparams.push_back(cpp::string(name));
      return settings_call("oblige", {arg(0), cpp::string(op.text("text")), cpp::braces(std::move(hparams)), place()});
    }
    case OpKind::ObligeSettings: {
      std::vector<cpp::Expr> paths;
      for (const std::string& path : op.texts("settings")) paths.push_back(cpp::string(path));
      return settings_call("oblige_settings",
                           {arg(0), cpp::string(op.text("text")), cpp::braces(std::move(paths)), place()});
    }
    case OpKind::ListCall: {
      const ir::Op* listed = definition(op.operands[0]);
      if (listed == nullptr || listed->kind != OpKind::MakeCall)
        return settings_call("call", {cpp::string(op.name), arg(0)});
      cpp::Expr list = cpp::call(cpp::dot(call_rows(*listed), "list"),
                                 {cpp::name("settings"), cpp::string(op.name), cpp::string(listed->name), place()});
      return push(cpp::expression(std::move(list)), op.loc);
    }
    case OpKind::AddStream: {
      std::string role = op.text("role");
      role[0] = char(role[0] - 'a' + 'A');
      return push(cpp::expression(cpp::call("ltr::build::add_stream",
                                            {cpp::unary("*", cpp::name("this")), cpp::name("ltr::Role::" + role),
                                             cpp::string(op.name), arg(1), place()})),
                  op.loc);
    }
    case OpKind::SetBatch: return set_batch(op);
    default: break;
  }
  throw ir::InternalError("no C++ for op " + std::string(op.info().name), op.loc);
}

void FunctionEmitter::log_value(const ir::Op& op) {
  const ValueId id = op.operands[0];
  const std::string& kind = op.text("kind");
  const std::string method = kind == "image"       ? "log_image"
                             : kind == "histogram" ? "log_histogram"
                             : kind == "text"      ? "log_text"
                                                   : "log";
  cpp::Expr value = use(id);
  if (type(id).is(TypeKind::MetricValue)) value = cpp::unary("*", std::move(value));
  if (type(id).is_host_number()) value = cpp::cast(cpp::plain("double"), std::move(value));
  push(cpp::expression(
           cpp::call(cpp::dot(cpp::name("cx"), method), {cpp::integer(op.number("slot")), std::move(value)})),
       op.loc);
}

// The state of the running stream is updated; what is logged is that state.
void FunctionEmitter::call_metric(const ir::Op& op) {
  const ir::Function* update = cx_.module.find(op.text("fn"));
  LTR_INVARIANT(update != nullptr, "no function " + op.text("fn"), op.loc);
  const ValueId result = op.results[0];
  const std::string name = name_of(result);
  cpp::Expr member = cx_.path(use(op.operands[0]), type(op.operands[0]), op.name);
  cpp::Expr state = cpp::call(cpp::dot(std::move(member), "of"), {cpp::dot(cpp::name("cx"), "stream")});
  push(cpp::variable(cx_.type(type(result)), name, cpp::unary("&", std::move(state))), op.loc);
  values_[result] = cpp::name(name);
  std::vector<cpp::Expr> args;
  for (size_t i = 1; i < op.operands.size(); ++i) {
    const ir::Type& wanted = update->values[update->body.params[i]].type;
    cpp::Expr arg = use_as(op.operands[i], wanted);
    // The runtime looks for nan, which most metrics would count as an ordinary number.
    if (wanted.is_tensor())
      arg = cpp::call(cpp::dot(cpp::name("cx"), "into_metric"), {cpp::string(op.name), std::move(arg)});
    args.push_back(std::move(arg));
  }
  push(cpp::expression(cpp::call(cpp::arrow(cpp::name(name), cx_.fn_name(*update)), std::move(args))), op.loc);
}

void FunctionEmitter::make_metric(const ir::Op& op) {
  const ir::Function* maker = cx_.module.find(op.text("make"));
  LTR_INVARIANT(maker != nullptr, "no function " + op.text("make"), op.loc);
  const std::string owner = cx_.struct_name(function_.owner);
  cpp::Expr field = cx_.path(use(op.operands[0]), type(op.operands[0]), op.name);
  cpp::Expr make = cpp::unary("&", cpp::name(owner + "::" + cx_.fn_name(*maker)));
  push(cpp::expression(cpp::call(cpp::dot(field, "set"), {std::move(make), cpp::name("this")})), op.loc);
  if (!type(op.operands[0]).is(TypeKind::Model)) return;
  // The runtime reaches the states through the base class.
  const std::string field_name = cx_.field_name(cx_.object(function_.owner), op.name);
  cpp::Expr self = cpp::cast(cpp::reference(cpp::plain(owner)), cpp::name("model"));
  cpp::Expr of = cpp::call(cpp::dot(cpp::dot(std::move(self), field_name), "of"), {cpp::name("stream")});
  cpp::Expr reach =
      cpp::lambda({{cpp::reference(cpp::plain("ltr::Model")), "model"}, {cpp::plain("int64_t"), "stream"}},
                  cpp::reference(cpp::plain("ltr::Metric")), {cpp::give_back(std::move(of))});
  push(cpp::expression(cpp::call("ltr::build::add_metric",
                                 {cpp::unary("*", cpp::name("this")), cpp::string(op.name), std::move(reach)})),
       op.loc);
}

}  // namespace ltr::emit
