// Sizes of results that hang on more than sizes: on bools, and on ints that functions of the library give.

#include <algorithm>
#include <type_traits>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"

namespace ltr::check {

namespace {

bool names(const ast::Expr& expr, const std::string& name) {
  const auto* ref = expr.get<ast::NameRef>();
  bool found = ref != nullptr && ref->name.text == name;
  const auto look = [&](const auto& part) {
    if constexpr (std::is_same_v<std::decay_t<decltype(part)>, ast::Expr>) found = found || names(part, name);
  };
  ast::for_each_child(expr, look);
  return found;
}

}  // namespace

bool hangs_on(const ast::Fn& fn, const std::string& name) {
  const auto* result = fn.result ? fn.result->get<ast::NamedType>() : nullptr;
  if (result == nullptr) return false;
  if (!result->has_dims) return result->name.text == "int" && fn.value && names(*fn.value, name);
  return std::ranges::any_of(result->dims, [&](const ast::Dim& dim) { return dim.value && names(**dim.value, name); });
}

std::vector<const ast::Fn*> functions_of(const std::vector<ast::Item>& items) {
  std::vector<const ast::Fn*> fns;
  for (const ast::Item& item : items) {
    if (const auto* fn = item.get<ast::Fn>()) fns.push_back(fn);
  }
  return fns;
}

void note_size(FnInfo& fn, const Stmt& given, Context& cx) {
  const auto* result = given.get<stmt::Return>();
  if (fn.result.kind != Kind::Int || result == nullptr || !result->value || !cx.graph.modules[fn.module].is_library)
    return;
  const Type& type = cx.at(*result->value).type;
  if (type.value && !cx.program.atoms.mentions_unknown(*type.value)) fn.result.value = type.value;
}

}  // namespace ltr::check
