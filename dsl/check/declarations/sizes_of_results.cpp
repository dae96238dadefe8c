// Sizes of results that hang on more than sizes: on bools, and on ints that functions of the library give.

#include <algorithm>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"

namespace ltr::check {

bool hangs_on(const ast::Fn& fn, const std::string& name) {
  const auto* result = fn.result ? fn.result->get<ast::NamedType>() : nullptr;
  if (result == nullptr) return false;
  if (!result->has_dims) return result->name.text == "int" && fn.value && ast::mentions(*fn.value, name);
  return std::ranges::any_of(result->dims,
                             [&](const ast::Dim& dim) { return dim.value && ast::mentions(**dim.value, name); });
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
