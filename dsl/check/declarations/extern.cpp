// Functions in C++: what their declarations say about types is checked here; whether the file keeps
// to them is seen where the file is read, which `check` never does.

#include <algorithm>
#include <filesystem>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

namespace {

/// Whether C++ can be handed a value of this type.
bool may_cross(const Type& type) {
  switch (type.kind) {
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool:
    case Kind::Str:
    case Kind::Path:
    case Kind::Tensor:
    case Kind::Error: return true;
    case Kind::Option:
    case Kind::List:
      return !type.fields.empty() && may_cross(type.fields[0].type) && type.fields[0].type.kind != Kind::List &&
             type.fields[0].type.kind != Kind::Option;
    default: return false;
  }
}

bool may_come_back(const Type& type) {
  if (type.kind == Kind::Tuple) {
    return std::all_of(type.fields.begin(), type.fields.end(), [](const TypeField& field) {
      return field.type.kind != Kind::Tuple && may_come_back(field.type);
    });
  }
  return type.is_tensor() || type.is_host_number() || type.is_error();
}

/// With `backward`, all that is given back must have a gradient.
bool is_differentiable(const Type& type) {
  if (type.kind == Kind::Tuple) {
    return std::all_of(type.fields.begin(), type.fields.end(),
                       [](const TypeField& field) { return is_differentiable(field.type); });
  }
  return type.is_error() || (type.is_tensor() && is_floating(type.element));
}

ExternFn read_function(Context& cx, const ast::ExternFn& decl, const FnInfo& info) {
  ExternFn fn;
  fn.name = info.name;
  fn.text = cx.source_text(decl.span);
  fn.span = decl.signature.name.span;
  fn.result = info.result;
  fn.result_span = decl.signature.result ? decl.signature.result->span : fn.span;
  if (decl.backward) {
    fn.backward = decl.backward->text;
    fn.backward_span = decl.backward->span;
    if (!is_differentiable(fn.result)) {
      cx.report(diag::cannot_cross(fn.backward_span,
                                   "`backward` wants results that have a gradient,"
                                   " not " +
                                       cx.text(fn.result)));
    }
  }
  for (size_t i = 0; i < info.params.size(); ++i) {
    const ParamInfo& param = info.params[i];
    fn.params.push_back({param.name, param.type});
    fn.param_spans.push_back(param.span);
    if (!may_cross(param.type)) {
      cx.report(diag::cannot_cross(param.span, "C++ cannot be handed " + cx.text(param.type))
                    .help("tensors, numbers, texts, and lists and options of them can"));
    }
  }
  if (!may_come_back(fn.result)) {
    cx.report(diag::cannot_cross(fn.result_span, fn.result.kind == Kind::Void ? "an extern function gives a result"
                                                                              : "C++ cannot give " + cx.text(fn.result))
                  .help("tensors, numbers and tuples of them can be given"));
  }
  return fn;
}

/// The sizes that `type` says its value has, as far as they are known where it is called.
Expr checked(Expr value, const Type& type, const FnInfo& fn, Scope& scope) {
  Context& cx = scope.cx;
  node::CheckResult result;
  result.text = "`" + fn.name + "` in " + fn.extern_file + " gave {}, but " + cx.text(type) + " is declared";
  result.tensor = cx.keep(std::move(value));
  uint32_t group = 0;
  for (const Dim& dim : type.dims) {
    if (dim.group != 0) {
      group = dim.group;
      continue;
    }
    auto size = cx.program.atoms.mentions_unknown(dim.size) ? std::nullopt : expr_of(dim.size, scope, {});
    result.dims.push_back(cx.keep(size ? std::move(*size) : int_const(-1, {})));
  }
  // The leading dims are those of a param that has the same.
  for (LocalId i = 0; group != 0 && i < fn.params.size(); ++i) {
    const Type& param = fn.params[i].type;
    if (!param.is_tensor()) continue;
    const auto has = [&](const Dim& dim) { return dim.group == group; };
    if (std::none_of(param.dims.begin(), param.dims.end(), has)) continue;
    const ExprId axes = cx.keep(int_const(int64_t(param.dims.size()) - 1, {}));
    result.leading = node::Leading{cx.keep(local_expr(i, scope, {})), axes};
    break;
  }
  return {type, {}, std::move(result)};
}

}  // namespace

Body extern_body(const FnInfo& fn, Scope& scope) {
  Context& cx = scope.cx;
  ExprIds args;
  for (LocalId i = 0; i < fn.params.size(); ++i) args.push_back(cx.keep(local_expr(i, scope, {})));
  Expr call{fn.result, {}, node::CallExtern{fn.name, std::move(args)}};
  if (fn.result.kind != Kind::Tuple) {
    if (fn.result.is_tensor()) call = checked(std::move(call), fn.result, fn, scope);
    return {{{}, stmt::Return{cx.keep(std::move(call))}}};
  }
  const LocalId kept = scope.hidden_local(fn.result);
  node::Tuple parts;
  for (size_t i = 0; i < fn.result.fields.size(); ++i) {
    const Type& type = fn.result.fields[i].type;
    Expr part{type, {}, node::TupleElement{cx.keep(local_expr(kept, scope, {})), int64_t(i)}};
    if (type.is_tensor()) part = checked(std::move(part), type, fn, scope);
    parts.elements.push_back(cx.keep(std::move(part)));
  }
  const ExprId value = cx.keep(std::move(call));
  const ExprId tuple = cx.keep({fn.result, {}, std::move(parts)});
  return {{{}, stmt::Let{kept, value}}, {{}, stmt::Return{tuple}}};
}

void check_externs(Context& cx) {
  namespace fs = std::filesystem;
  std::map<fs::path, size_t> files;
  std::map<std::string, std::pair<size_t, Span>> defined;
  const auto define = [&](const std::string& name, size_t file, Span span) {
    const auto [first, is_new] = defined.emplace(name, std::pair(file, span));
    if (is_new || first->second.first == file) return;
    const auto& externs = cx.program.externs;
    cx.report(diag::two_externs(span, externs[first->second.first].file, externs[file].file, name)
                  .label(first->second.second, "the other one")
                  .note("functions of all C++ files lie in one name space, whichever file of the program declares them")
                  .help("give one of them another name, here and in its C++ file"));
  };
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      const auto* block = decl.get<ast::Extern>();
      if (block == nullptr) continue;
      const fs::path path = (fs::path(module.path).parent_path() / block->file).lexically_normal();
      const auto [at, is_new] = files.emplace(path, cx.program.externs.size());
      if (is_new) {
        cx.program.externs.push_back({block->file, module.path, block->file_span, {}});
      }
      for (const ast::ExternFn& fn : block->fns) {
        const auto symbol = module.symbols.find(fn.signature.name.text);
        if (symbol == module.symbols.end() || symbol->second.fn != &fn.signature) continue;
        FnInfo& info = fn_of(cx, symbol->second);
        check_body_of(cx, info);
        cx.program.externs[at->second].fns.push_back(read_function(cx, fn, info));
        define(info.name, at->second, fn.signature.name.span);
        if (fn.backward) define(fn.backward->text, at->second, fn.backward->span);
      }
    }
  }
}

}  // namespace ltr::check
