// `from "weights.safetensors" { … }`, as written. What lies in the file is compared in dsl/weights.

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

bool is_block_or_list(const Type& type) {
  if (type.kind == Kind::Block) return true;
  return type.kind == Kind::List && std::any_of(type.fields.begin(), type.fields.end(),
                                                [](const TypeField& field) { return is_block_or_list(field.type); });
}

WeightRule::Kind kind_of(ast::LoadRule::Kind kind) {
  switch (kind) {
    case ast::LoadRule::Kind::Rename: return WeightRule::Kind::Rename;
    case ast::LoadRule::Kind::Skip: return WeightRule::Kind::Skip;
    case ast::LoadRule::Kind::Freeze:
    case ast::LoadRule::Kind::Error: break;
  }
  return WeightRule::Kind::Freeze;
}

}  // namespace

std::optional<WeightSource> check_source(const ast::Member& member, const ExprView& value, Scope& scope) {
  WeightSource source;
  source.span = member.source->span;
  source.path = check_as(*member.source, Type::of(Kind::Str), scope, "the file");
  if (source.path.type.is_error() || value.type.is_error()) return std::nullopt;
  if (!is_block_or_list(value.type)) {
    scope.cx.report(
        diag::wrong_type(source.span, "weights are loaded into a block, not into " + scope.cx.text(value.type)));
    return std::nullopt;
  }
  for (const ast::LoadRule& rule : member.rules) {
    const auto stars = [](const std::string& text) { return std::count(text.begin(), text.end(), '*'); };
    const bool is_rename = rule.kind == ast::LoadRule::Kind::Rename;
    if (rule.kind == ast::LoadRule::Kind::Error) continue;
    if (is_rename && (stars(rule.pattern) > 1 || stars(rule.pattern) != stars(rule.replacement))) {
      scope.cx.report(diag::wrong_argument(rule.span, "both sides of a `rename` have one `*`, or none"));
      continue;
    }
    source.rules.push_back({{kind_of(rule.kind), rule.pattern, rule.replacement}, rule.span});
  }
  return source;
}

}  // namespace ltr::check
