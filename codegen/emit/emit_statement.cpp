#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::OpKind;
using ir::TypeKind;
using ir::ValueId;

namespace {

/// Of the kind in `ltr::LoadRule`.
std::string cpp_name(NameRule::Kind kind) {
  switch (kind) {
    case NameRule::Kind::Rename: return "Rename";
    case NameRule::Kind::Skip: return "Skip";
    case NameRule::Kind::Freeze: return "Freeze";
  }
  return "";
}

cpp::Expr texts(const std::vector<std::string>& of) {
  std::vector<cpp::Expr> items;
  for (const std::string& text : of) items.push_back(cpp::string(text));
  return cpp::braces(std::move(items));
}

}  // namespace

void FunctionEmitter::on_context(const std::string& method, std::vector<cpp::Expr> args, const ir::Op& op) {
  push(cpp::expression(cpp::call(cpp::dot(cpp::name("cx"), method), std::move(args))), op.loc);
}

void FunctionEmitter::on_settings(const std::string& method, std::vector<cpp::Expr> args, const ir::Op& op) {
  push(cpp::expression(cpp::call(cpp::dot(cpp::name("settings"), method), std::move(args))), op.loc);
}

// What a hook calls of the model stands in it, with paths that begin at the callback.
bool FunctionEmitter::is_of_block(const ir::Type& object, std::string_view name) {
  return object.is(TypeKind::Block) || object.is(TypeKind::Model) || name.starts_with("model.");
}

// Buffers of blocks are registered, so the tensor stays and its elements change.
void FunctionEmitter::write_buffer(const ir::Op& op) {
  const ir::Type& object = type(op.operands[0]);
  cpp::Expr target = cx_.path(use(op.operands[0]), object, op.name);
  cpp::Expr value = use(op.operands[1]);
  push(is_of_block(object, op.name) ? cpp::expression(cpp::call("ltr::assign", {std::move(target), std::move(value)}))
                                    : cpp::assign(std::move(target), std::move(value)),
       op.loc);
}

void FunctionEmitter::make_init(const ir::Op& op) {
  const ir::Function* init = cx_.module.find(op.text("fn"));
  LTR_INVARIANT(init != nullptr, "no function " + op.text("fn"), op.loc);
  cpp::Expr fn = cpp::unary("&", cpp::name(cx_.struct_name(init->owner) + "::" + cx_.fn_name(*init)));
  push(cpp::expression(cpp::call(cpp::dot(use(op.operands[0]), "init"), {cpp::string(op.text("pattern")), std::move(fn),
                                                                         use(op.operands[1]), cx_.location(op.loc)})),
       op.loc);
}

void FunctionEmitter::load_weights(const ir::Op& op) {
  std::vector<cpp::Expr> rules;
  for (const NameRule& rule : op.name_rules("rules")) {
    rules.push_back(cpp::braces({cpp::name("ltr::LoadRule::" + cpp_name(rule.kind)), cpp::string(rule.pattern),
                                 cpp::string(rule.replacement)}));
  }
  push(cpp::expression(cpp::call("ltr::load_weights", {use(op.operands[0]), use(op.operands[1]),
                                                       cpp::braces(std::move(rules)), cx_.location(op.loc)})),
       op.loc);
}

void FunctionEmitter::check_hparam(const ir::Op& op) {
  cpp::Expr fits = cpp::name("nullptr");
  for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
    if (hparam.name == op.name && !hparam.fits.empty() && hparam.type.is(TypeKind::Int))
      fits = cpp::unary("&", cpp::name("program::" + Context::identifier(hparam.fits)));
  }
  on_settings("check_hparam", {cpp::string(op.name), use(op.operands[0]), std::move(fits)}, op);
}

void FunctionEmitter::check_setting(const ir::Op& op) {
  for (const ir::HparamInfo& hparam : cx_.tables.hparams) {
    if (hparam.name != op.text("hparam")) continue;
    cpp::Expr holds = cpp::call("program::" + Context::identifier(hparam.fits), {use(op.operands[0])});
    return on_settings("check_setting", {cpp::string(op.name), cpp::string(hparam.name), std::move(holds)}, op);
  }
}

void FunctionEmitter::oblige(const ir::Op& op) {
  std::vector<cpp::Expr> sides;
  for (size_t i = 1; i < op.operands.size(); ++i)
    sides.push_back(
        cpp::braces({cpp::string(op.texts("sides")[i - 1]), cpp::cast(cpp::plain("double"), use(op.operands[i]))}));
  on_settings("oblige",
              {use(op.operands[0]), cpp::string(op.text("text")), texts(op.texts("hparams")), cx_.location(op.loc),
               cpp::braces(std::move(sides))},
              op);
}

void FunctionEmitter::list_call(const ir::Op& op) {
  const ir::Op* listed = definition(op.operands[0]);
  if (listed == nullptr || listed->kind != OpKind::MakeCall)
    return on_settings("call", {cpp::string(op.name), use(op.operands[0])}, op);
  cpp::Expr list = cpp::call(cpp::dot(call_rows(*listed), "list"), {cpp::name("settings"), cpp::string(op.name),
                                                                    cpp::string(listed->name), cx_.location(op.loc)});
  push(cpp::expression(std::move(list)), op.loc);
}

void FunctionEmitter::add_stream(const ir::Op& op) {
  std::string role = op.text("role");
  role[0] = char(role[0] - 'a' + 'A');
  push(cpp::expression(
           cpp::call("ltr::build::add_stream", {cpp::unary("*", cpp::name("this")), cpp::name("ltr::Role::" + role),
                                                cpp::string(op.name), use(op.operands[1]), cx_.location(op.loc)})),
       op.loc);
}

// One line per op: the statement that it becomes.
void FunctionEmitter::statement(const ir::Op& op) {
  const auto arg = [&](size_t i) { return use(op.operands[i]); };
  const auto place = [&] { return cx_.location(op.loc); };
  switch (op.kind) {
    case OpKind::SetMember: return push(cpp::assign(cx_.path(arg(0), type(op.operands[0]), op.name), arg(1)), op.loc);
    case OpKind::WriteBuffer: return write_buffer(op);
    case OpKind::SeedWeight:
      return push(cpp::expression(cpp::call(cpp::dot(arg(0), "seed"), {cpp::string(op.name)})), op.loc);
    case OpKind::MakeInit: return make_init(op);
    case OpKind::LoadWeights: return load_weights(op);
    case OpKind::MakeMetric: return make_metric(op);
    case OpKind::CallMetric: return call_metric(op);
    case OpKind::Assert: {
      cpp::Expr text = op.operands.size() > 1 ? arg(1) : cpp::string(op.text("text"));
      cpp::Body fail = {cpp::expression(cpp::call("ltr::fail_assert", {std::move(text), place()}))};
      return push(cpp::branch(cpp::unary("!", arg(0)), std::move(fail)), op.loc);
    }
    case OpKind::Print: return on_context("print", {joined_text(op.operands, {}, " ")}, op);
    case OpKind::Minimize:
      return on_context("minimize", {arg(0), cpp::unary("*", arg(1)), cpp::boolean(op.number("last") != 0), place()},
                        op);
    case OpKind::Backward: return on_context("backward", {arg(0), place()}, op);
    case OpKind::LogValue: return log_value(op);
    case OpKind::Trainer: return on_context(std::string(op.target()), uses(op), op);
    case OpKind::CheckHparam: return check_hparam(op);
    case OpKind::CheckSetting: return check_setting(op);
    case OpKind::SetHparam:
      return push(cpp::assign(cpp::dot(cpp::name("program::hparams"), Context::identifier(op.name)), arg(0)), op.loc);
    case OpKind::SetSlot: return push(cpp::assign(slot(op), arg(0)), op.loc);
    case OpKind::Oblige: return oblige(op);
    case OpKind::ObligeSettings:
      return on_settings("oblige_settings",
                         {arg(0), cpp::string(op.text("text")), texts(op.texts("settings")), place()}, op);
    case OpKind::ListCall: return list_call(op);
    case OpKind::AddStream: return add_stream(op);
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
  on_context(method, {cpp::integer(op.number("slot")), std::move(value)}, op);
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
