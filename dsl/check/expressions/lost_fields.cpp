// W0302: a field that is written into a record where nothing has it. A record fits what asks for some of its fields: who has one hands
// it on. But the settings of a block and what a function declares to give are written for their place alone.

#include <algorithm>

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

void look_at_fields(const ast::Expr& written, const Type& wanted, Scope& scope) {
  const auto* record = written.get<ast::Record>();
  if (record == nullptr || wanted.kind != Kind::Record || scope.cx.graph.modules[scope.module].is_library) return;
  for (const ast::RecordField& field : record->fields) {
    const std::string& name = field.name.text;
    const bool is_there = std::ranges::any_of(wanted.fields, [&](const TypeField& one) { return one.name == name; });
    if (is_there || name.starts_with("_")) continue;
    scope.cx.report(diag::unused_name(field.name.span, "the field `" + name + "`")
                        .note("{} is wanted here", scope.cx.text(wanted))
                        .help("take it away"));
  }
}

}  // namespace ltr::check
