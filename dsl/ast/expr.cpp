#include "dsl/ast/expr.h"

namespace ltr::ast {

std::optional<Name> name_written(const Expr& expr) {
  if (const auto* ref = expr.get<NameRef>()) return ref->name;
  const auto* field = expr.get<Field>();
  const auto* base = field != nullptr ? field->base->get<NameRef>() : nullptr;
  if (base == nullptr) return std::nullopt;
  return Name{base->name.text + "." + field->name.text, expr.span};
}

}  // namespace ltr::ast
