// The static functions through which the runtime calls maps, steps and callbacks.

#include "codegen/emit/context.h"

namespace ltr::emit {

using ir::TypeKind;

namespace {

const char* cell_field(const ir::Type& type) {
  switch (type.kind) {
    case TypeKind::Int:
    case TypeKind::Bool: return "whole";
    case TypeKind::Float: return "real";
    case TypeKind::Str: return "text";
    case TypeKind::List: return "texts";
    default: return "tensor";
  }
}

cpp::Expr element(const char* list, size_t index) { return cpp::index(cpp::name(list), cpp::integer(int64_t(index))); }

/// Cell `i` of the record `in` as a value.
cpp::Expr cell_value(size_t i, const ir::Type& type, Context& cx) {
  if (type.is(TypeKind::Option)) {
    cpp::Expr value = cpp::construct(cx.type(type), {cell_value(i, type.fields[0].type, cx)});
    return cpp::ternary(cpp::dot(element("in", i), "is_missing"), cx.none_of(type), std::move(value));
  }
  cpp::Expr cell = cpp::dot(element("in", i), cell_field(type));
  return type.is(TypeKind::Bool) ? cpp::binary("!=", std::move(cell), cpp::integer(0)) : cell;
}

/// `out[i] = value`.
void set_cell(size_t i, const ir::Type& type, const cpp::Expr& value, cpp::Body& body) {
  if (!type.is(TypeKind::Option)) {
    body.push_back(cpp::assign(cpp::dot(element("out", i), cell_field(type)), value));
    return;
  }
  const ir::Type& inner = type.fields[0].type;
  body.push_back(cpp::assign(cpp::dot(element("out", i), "is_missing"),
                             cpp::unary("!", cpp::call(cpp::dot(value, "has_value"), {}))));
  body.push_back(cpp::branch(cpp::call(cpp::dot(value, "has_value"), {}),
                             {cpp::assign(cpp::dot(element("out", i), cell_field(inner)), cpp::unary("*", value))}));
}

/// What the function of `map` gives for the record `in`.
cpp::Expr call_on_record(const ir::MapInfo& map, const ir::Function& fn, Context& cx) {
  const ir::Type record = fn.values[fn.body.params.back()].type;
  std::vector<cpp::Expr> fields;
  for (const ir::Field& field : record.fields) {
    for (size_t i = 0; i < map.input.size(); ++i) {
      if (map.input[i].name != field.name) continue;
      fields.push_back(cell_value(i, field.type, cx));
    }
  }
  // What is made of numbers takes the number alone.
  cpp::Expr argument = record.is(TypeKind::Int) ? cpp::dot(element("in", 0), cell_field(record))
                                                : cpp::braces(cx.type(record), std::move(fields));
  if (map.data.empty()) return cpp::call(cx.fn_name(fn), {std::move(argument)});
  // A map reads its object and writes nothing, but its C++ methods are not `const`.
  const cpp::Type object = cpp::reference(cpp::plain(cx.struct_name(map.data)));
  cpp::Expr self =
      cpp::call(cpp::templated("const_cast", object),
                {cpp::cast(cpp::const_reference(cpp::plain(cx.struct_name(map.data))), cpp::name("self"))});
  return cpp::call(cpp::dot(std::move(self), cx.fn_name(fn)), {std::move(argument)});
}

void emit_map(const ir::MapInfo& map, size_t number, Context& cx) {
  const ir::Function* fn = cx.module.find(map.fn);
  if (fn == nullptr) return;
  cpp::Function out;
  out.result = cpp::plain(map.is_filter ? "bool" : "void");
  out.name = "ltr_map_" + std::to_string(number);
  out.params = {{cpp::const_reference(cpp::plain("ltr::Data")), "self"},
                {cpp::const_reference(cpp::plain("ltr::Record")), "in"}};
  cpp::Expr call = call_on_record(map, *fn, cx);
  if (map.is_filter) {
    const bool is_tensor = fn->result.is_tensor();
    out.body.push_back(
        cpp::give_back(is_tensor ? cpp::binary("!=", cpp::call(cpp::dot(std::move(call), "item"), {}), cpp::integer(0))
                                 : std::move(call)));
    cx.file.functions.push_back(std::move(out));
    return;
  }
  out.params.push_back({cpp::reference(cpp::plain("ltr::Record")), "out"});
  out.body.push_back(cpp::variable(cpp::constant(cx.type(fn->result)), "result", std::move(call)));
  out.body.push_back(
      cpp::expression(cpp::call(cpp::dot(cpp::name("out"), "resize"), {cpp::integer(int64_t(map.output.size()))})));
  for (size_t i = 0; i < map.output.size(); ++i) {
    const ir::Field& field = map.output[i];
    const cpp::Expr result = cpp::name("result");
    const bool is_whole = !fn->result.is(TypeKind::Record);
    set_cell(i, field.type, is_whole ? result : cpp::dot(result, Context::identifier(field.name)), out.body);
  }
  cx.file.functions.push_back(std::move(out));
}

/// `{{"name", value}, …}` of a variable `result`: a tensor, or a record or tuple of tensors. `order` names the fields of a record.
cpp::Expr outputs_of(const ir::Type& type, const std::vector<std::string>& order) {
  const cpp::Expr result = cpp::name("result");
  std::vector<cpp::Expr> outputs;
  const auto add = [&](const std::string& name, const ir::Type& of, cpp::Expr value) {
    std::vector<cpp::Expr> parts = {cpp::string(name), std::move(value)};
    if (of.element == ir::Element::Str) parts.push_back(cpp::boolean(true));
    outputs.push_back(cpp::braces(std::move(parts)));
  };
  if (type.is_tensor()) add("prediction", type, result);
  if (type.is(ir::TypeKind::Record)) {
    for (const std::string& name : order) {
      for (const ir::Field& field : type.fields) {
        if (field.name == name) add(name, field.type, cpp::dot(result, Context::identifier(name)));
      }
    }
  } else {
    for (size_t i = 0; i < type.fields.size(); ++i)
      add("output_" + std::to_string(i), type.fields[i].type,
          cpp::call("std::get<" + std::to_string(i) + ">", {result}));
  }
  return cpp::braces(std::move(outputs));
}

/// `void name(Model&, Context&, const Batch&, const std::vector<Value>&)`, which picks the step's fields.
void emit_step(const std::string& name, const std::string& model, const std::string& data, const std::string& fn_name,
               const std::vector<int>& fields, const std::vector<ir::StepParam>& params,
               const std::vector<std::string>& outputs, Context& cx) {
  const ir::Function* fn = cx.module.find(fn_name);
  LTR_INVARIANT(fn != nullptr, "no function " + fn_name, ir::Loc{});
  cpp::Function out;
  out.result = cpp::plain("void");
  out.name = name;
  out.params = {{cpp::reference(cpp::plain("ltr::Model")), "model"},
                {cpp::reference(cpp::plain("ltr::Context")), "cx"},
                {cpp::const_reference(cpp::plain("ltr::Batch")), "batch"},
                {cpp::const_reference(cpp::generic("std::vector", {cpp::plain("ltr::Value")})), "params"}};
  std::vector<cpp::Expr> args = {cpp::name("cx")};
  size_t param = 0;
  int64_t extra = 0;
  for (const ir::DataInfo& one : cx.tables.datas) {
    if (one.object == data) extra = int64_t(one.batch.size());
  }
  for (const int field : fields) {
    if (field >= 0) {
      args.push_back(cpp::index(cpp::dot(cpp::name("batch"), "fields"), cpp::integer(field)));
    } else {
      const ir::Type& type = params[param].type;
      // A tensor that no stream delivers is put behind the batch's own fields.
      args.push_back(type.is_tensor() ? cpp::index(cpp::dot(cpp::name("batch"), "fields"), cpp::integer(extra++))
                                      : cx.read_value(element("params", param), type));
      ++param;
    }
  }
  cpp::Expr self = cpp::cast(cpp::reference(cpp::plain(cx.struct_name(model))), cpp::name("model"));
  cpp::Expr call = cpp::call(cpp::dot(std::move(self), cx.fn_name(*fn)), std::move(args));
  if (fn->result.is(ir::TypeKind::Void)) {
    out.body.push_back(cpp::expression(std::move(call)));
  } else {
    out.body.push_back(cpp::variable(cpp::constant(cx.type(fn->result)), "result", std::move(call)));
    out.body.push_back(
        cpp::expression(cpp::call(cpp::dot(cpp::name("cx"), "output"), {outputs_of(fn->result, outputs)})));
  }
  cx.file.functions.push_back(std::move(out));
}

void emit_callback(const ir::CallbackInfo& callback, Context& cx) {
  const ir::ObjectInfo& object = cx.object(callback.object);
  cpp::Function out;
  out.result = cpp::pointer(cpp::plain("ltr::Callback"));
  out.name = "ltr_make_" + Context::identifier(callback.object);
  out.params = {{cpp::const_reference(cpp::plain("ltr::Value")), "arguments"},
                {cpp::reference(cpp::plain("ltr::Model")), "model"}};
  std::vector<cpp::Expr> args = {cpp::name("model")};
  for (const ir::ObjectParam& param : object.params) {
    const cpp::Expr found = cpp::call(cpp::dot(cpp::name("arguments"), "find"), {cpp::string(param.name)});
    args.push_back(cx.read_value(cpp::unary("*", found), param.type));
  }
  out.body.push_back(cpp::give_back(cpp::make_new(cpp::plain(cx.struct_name(callback.object)), std::move(args))));
  cx.file.functions.push_back(std::move(out));
}

/// `double name(int64_t step, int64_t total, const Value& call)`, which reads what its call says beside.
void emit_schedule(const ir::ScheduleInfo& schedule, Context& cx) {
  const ir::Function* fn = cx.module.find(schedule.fn);
  LTR_INVARIANT(fn != nullptr, "no function " + schedule.fn, ir::Loc{});
  cpp::Function out;
  out.result = cpp::plain("double");
  out.name = "ltr_schedule_" + Context::identifier(schedule.fn);
  out.params = {{cpp::plain("int64_t"), "step"},
                {cpp::plain("int64_t"), "total"},
                {cpp::const_reference(cpp::plain("ltr::Value")), "call"}};
  std::vector<cpp::Expr> args = {cpp::name("step"), cpp::name("total")};
  for (size_t i = args.size(); i < fn->body.params.size(); ++i) {
    const ir::Value& param = fn->values[fn->body.params[i]];
    const cpp::Expr found = cpp::call(cpp::dot(cpp::name("call"), "find"), {cpp::string(param.name)});
    args.push_back(cx.read_value(cpp::unary("*", found), param.type));
  }
  out.body.push_back(cpp::give_back(cpp::call(cx.fn_name(*fn), std::move(args))));
  cx.file.functions.push_back(std::move(out));
}

}  // namespace

void emit_wrappers(Context& cx) {
  for (const ir::Function& fn : cx.module.functions) {
    if (fn.owner.empty()) cx.file.functions.push_back(emit_function(fn, cx));
  }
  for (size_t i = 0; i < cx.tables.maps.size(); ++i) emit_map(cx.tables.maps[i], i, cx);
  for (const ir::ScheduleInfo& schedule : cx.tables.schedules) emit_schedule(schedule, cx);
  std::set<std::string> made;
  for (const ir::ExperimentInfo& experiment : cx.tables.experiments) {
    for (const ir::StepInfo& step : experiment.steps) {
      const std::string name = cx.wrapper_name(experiment, step);
      if (made.insert(name).second)
        emit_step(name, experiment.model, experiment.data, step.fn, step.fields, step.params, step.outputs, cx);
    }
  }
  for (size_t i = 0; i < cx.tables.pairs.size(); ++i) {
    const ir::TrainPair& pair = cx.tables.pairs[i];
    emit_step("ltr_pair_" + std::to_string(i), pair.model, pair.data, pair.fn, pair.fields, {}, {}, cx);
  }
  for (const ir::CallbackInfo& callback : cx.tables.callbacks) {
    if (cx.module.find(cx.object(callback.object).constructor) != nullptr) emit_callback(callback, cx);
  }
}

}  // namespace ltr::emit
