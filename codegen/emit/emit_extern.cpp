// C++ functions of the program: their prototypes, for the generated program and for the user's
// file, and calls of them.

#include "codegen/emit/emit.h"

#include <algorithm>

#include "codegen/emit/function_emitter.h"

namespace ltr::emit {

using ir::TypeKind;

namespace {

constexpr const char* kOnCuda = "_on_cuda";

bool is_cuda_file(const std::string& file) { return file.ends_with(".cu"); }

bool is_floating(const ir::Type& type) {
  if (type.is(TypeKind::Option)) return is_floating(type.fields[0].type);
  return type.is_tensor() && ir::is_floating(type.element);
}

cpp::Function prototype(const ir::ExternFn& fn, Context& cx) {
  cpp::Function out;
  out.result = cx.type(fn.result);
  out.name = Context::identifier(fn.name);
  for (const ir::Field& param : fn.params)
    out.params.push_back({cx.param_type(param.type), Context::identifier(param.name)});
  return out;
}

/// It is handed the inputs, the outputs and their gradients, and gives the gradient of each
/// floating input.
cpp::Function backward_prototype(const ir::ExternFn& fn, Context& cx) {
  cpp::Function out = prototype(fn, cx);
  out.name = Context::identifier(fn.backward);
  const size_t outputs = fn.result.is(TypeKind::Tuple) ? fn.result.fields.size() : 1;
  const cpp::Type tensor = cpp::plain("ltr::Tensor");
  for (const char* what : {"output", "gradient"}) {
    for (size_t i = 0; i < outputs; ++i) {
      std::string name = outputs == 1 ? what : what + std::to_string(i);
      const auto is_taken = [&](const cpp::Param& param) { return param.name == name; };
      while (std::any_of(out.params.begin(), out.params.end(), is_taken)) name += "_";
      out.params.push_back({cpp::const_reference(tensor), std::move(name)});
    }
  }
  std::vector<cpp::Type> gradients;
  for (const ir::Field& param : fn.params) {
    if (is_floating(param.type)) gradients.push_back(tensor);
  }
  out.result = gradients.size() == 1 ? tensor : cpp::generic("std::tuple", std::move(gradients));
  return out;
}

/// Runs `use` with every function that the file must define.
template <class Use>
void each_prototype(const ir::ExternFile& file, Context& cx, Use&& use) {
  for (const ir::ExternFn& fn : file.fns) {
    use(fn, prototype(fn, cx));
    if (!fn.backward.empty()) use(fn, backward_prototype(fn, cx));
  }
}

/// The address of `one`, by its type: headers of the system may have functions of its name.
cpp::Expr address_of(const cpp::Function& one) {
  std::vector<cpp::Type> signature = {one.result};
  for (const cpp::Param& param : one.params) signature.push_back(param.type);
  return cpp::cast(cpp::generic("ltr::foreign::Function", std::move(signature)),
                   cpp::unary("&", cpp::name("::" + one.name)));
}

}  // namespace

void emit_externs(Context& cx) {
  if (!cx.tables.externs.empty()) cx.file.includes.push_back("ltr/foreign.h");
  for (const ir::ExternFile& file : cx.tables.externs) {
    each_prototype(file, cx, [&](const ir::ExternFn&, cpp::Function one) {
      // Which of its forms a `.cu` file has is known where it is compiled.
      one.is_weak = is_cuda_file(file.file);
      cx.file.foreign.push_back(one);
      if (!one.is_weak) return;
      one.name += kOnCuda;
      cx.file.foreign.push_back(std::move(one));
    });
  }
}

cpp::Expr FunctionEmitter::call_extern(const ir::Op& op) {
  const ir::ExternFile* file = nullptr;
  const ir::ExternFn* fn = nullptr;
  for (const ir::ExternFile& candidate : cx_.tables.externs) {
    for (const ir::ExternFn& one : candidate.fns) {
      if (one.name == op.name) file = &candidate, fn = &one;
    }
  }
  LTR_INVARIANT(fn != nullptr, "no C++ function " + op.name, op.loc);
  std::vector<cpp::Expr> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) operands.push_back(use_as(op.operands[i], fn->params[i].type));
  const auto form_of = [&](const std::string& name, cpp::Function one) {
    cpp::Expr address = address_of(one);
    if (!is_cuda_file(file->file)) return address;
    one.name += kOnCuda;
    std::vector<cpp::Expr> args = {cpp::string(name), cpp::string(file->file), std::move(address), address_of(one)};
    args.insert(args.end(), operands.begin(), operands.end());
    return cpp::call("ltr::foreign::on_device", std::move(args));
  };
  std::vector<cpp::Expr> args = {cpp::string(fn->name)};
  if (!fn->backward.empty()) args.push_back(cpp::string(fn->backward));
  args.push_back(form_of(fn->name, prototype(*fn, cx_)));
  if (!fn->backward.empty()) args.push_back(form_of(fn->backward, backward_prototype(*fn, cx_)));
  args.insert(args.end(), operands.begin(), operands.end());
  return cpp::call("ltr::foreign::call", std::move(args));
}

cpp::Expr FunctionEmitter::check_result(const ir::Op& op) {
  const size_t count = size_t(op.number("dims"));
  std::vector<cpp::Expr> dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(use(op.operands[i + 1]));
  std::vector<cpp::Expr> args = {use(op.operands[0]), Context::dtype(type(op.results[0]).element),
                                 cpp::braces(std::move(dims)), cpp::string(op.text("text"))};
  for (size_t i = count + 1; i < op.operands.size(); ++i) args.push_back(use(op.operands[i]));
  return cpp::call("ltr::foreign::check_result", std::move(args));
}

std::string emit_extern_header(const ir::ExternFile& file) {
  ir::Module module;
  module.tables = std::make_shared<const ir::Tables>();
  Context cx(module);
  cpp::Header header;
  header.comment = "What the program expects of " + file.file + ". Made by ltrc; include it first in that file.";
  header.includes = {"ltr/extern.h"};
  std::string last;
  each_prototype(file, cx, [&](const ir::ExternFn& fn, cpp::Function one) {
    // Both forms of a `.cu` file are linked into one program.
    if (is_cuda_file(file.file)) header.cuda_names.push_back({one.name, one.name + kOnCuda});
    header.functions.push_back({fn.text == last ? "" : fn.text, std::move(one)});
    last = fn.text;
  });
  return cpp::print(header);
}

}  // namespace ltr::emit
