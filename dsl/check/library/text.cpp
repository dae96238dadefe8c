#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/resolve/library.h"

namespace ltr::check {

namespace {

bool is_text(const Type& type) { return type.kind == Kind::Str || type.kind == Kind::Path; }

bool is_list_of_texts(const Type& type) {
  if (type.kind != Kind::List) return false;
  for (const TypeField& field : type.fields) {
    if (!is_text(field.type)) return false;
  }
  return true;
}

/// Whether the method `op` is one of values of this type.
bool is_method_of(const FnInfo& op, const Type& type) {
  if (op.params.empty()) return false;
  return op.params[0].type.kind == Kind::List ? is_list_of_texts(type) : is_text(type);
}

}  // namespace

std::optional<Expr> check_text_call(const std::string& name, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const auto symbol = cx.graph.texts.find(name);
  if (symbol == cx.graph.texts.end() || site.given.empty() || site.given[0].name) return std::nullopt;
  const FnInfo& op = fn_of(cx, symbol->second);
  if (!site.given[0].checked || !is_method_of(op, site.given[0].checked->type)) return std::nullopt;
  return call_by_rule(op, site);
}

// Of all that there are: those that the program does not use are not read.
std::vector<std::string> text_methods(const Type& type) {
  std::vector<std::string> names;
  if (type.kind != Kind::List && !is_text(type)) return names;
  for (const std::string& name : resolve::LibraryIndex::get().names("str/")) {
    const bool is_of_list = name == library::info(library::Id::Join).name;
    if (is_of_list == (type.kind == Kind::List)) names.push_back(name);
  }
  return names;
}

Expr slice_text(Expr text, const ast::Index& index, Span span, Scope& scope) {
  const ast::IndexItem* item = index.items.size() == 1 ? &index.items[0] : nullptr;
  if (item == nullptr || item->kind != ast::IndexItem::Kind::Range) {
    scope.cx.report(diag::wrong_type(span, "of a text a range is taken: `s[a .. b]`")
                        .help("`s[i .. i + 1]` is one code point, and `s.chars()` a list of them"));
    return error_at(span);
  }
  const auto bound = [&](const std::optional<ast::Box<ast::Expr>>& end) {
    return end ? check_as(**end, Type::of(Kind::Int), scope, "a bound") : none_const(span);
  };
  Expr first = bound(item->first);
  Expr end = bound(item->second);
  if (first.type.is_error() || end.type.is_error()) return error_at(span);
  return op_expr(library::Id::SliceText, Type::of(Kind::Str), span,
                 {scope.cx.keep(std::move(text)), scope.cx.keep(std::move(first)), scope.cx.keep(std::move(end))});
}

}  // namespace ltr::check
