// `tokenize` and `pack`: texts as ids, and ids in windows of one size.

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

/// The text that `of` names becomes ids; without it there is one.
Expr rule_tokenize(const FnInfo& op, CallSite& site) {
  constexpr size_t kOf = 2;
  Context& cx = site.scope.cx;
  const Expr stream = *site.given[0].checked;
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args || !stands_before_batches(stream.type, site)) return error_at(site.span);
  std::vector<std::string> texts;
  for (const TypeField& field : stream.type.fields) {
    if (field.type.kind == Kind::Str) texts.push_back(field.name);
  }
  Expr& of = (*args)[kOf];
  std::string wanted = text_of(of);
  if (of.is<node::NoneConst>() && texts.size() == 1) wanted = texts[0];
  if (std::find(texts.begin(), texts.end(), wanted) == texts.end()) {
    diagnostics::Diagnostic diagnostic =
        of.is<node::NoneConst>()
            ? diag::wrong_argument(site.name_span, "`tokenize` cuts one text of a record, and these have " +
                                                       (texts.empty() ? std::string("none") : "several"))
            : diag::unknown_field(of.span, "the stream", wanted);
    if (!texts.empty()) note_known(diagnostic, texts);
    if (of.is<node::NoneConst>() && !texts.empty()) diagnostic.help("say which: `tokenize(…, of = \"{}\")`", texts[0]);
    cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  std::vector<TypeField> fields = stream.type.fields;
  for (TypeField& field : fields) {
    if (field.name == "ids" && wanted != "ids") {
      cx.report(diag::wrong_argument(site.name_span,
                                     "the record has a field `ids` already, as those of the text are called"));
      return error_at(site.span);
    }
    if (field.name != wanted) continue;
    field = {"ids", Type::tensor(Element::I64, {Dim{.size = cx.program.atoms.unknown(), .group = 0}})};
  }
  of = str_const(wanted, of.span);
  return typed_call(op, stream_of(std::move(fields)), site, std::move(*args));
}

Expr rule_pack(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto packed = stage(op, site);
  if (!packed || !stands_before_batches(packed->type, site)) return error_at(site.span);
  const auto are_ids = [](const Type& type) {
    return type.is_tensor() && type.dims.size() == 1 && !is_floating(type.element) && type.element != Element::Bool;
  };
  const std::vector<TypeField>& fields = packed->type.fields;
  if (fields.size() != 1 || !are_ids(fields[0].type)) {
    diagnostics::Diagnostic diagnostic = diag::wrong_argument(
        site.name_span, "`pack` joins records of ids alone, not those of a " + cx.text(packed->type));
    const auto ids =
        std::find_if(fields.begin(), fields.end(), [&](const TypeField& one) { return are_ids(one.type); });
    const bool is_text =
        std::any_of(fields.begin(), fields.end(), [](const TypeField& one) { return one.type.kind == Kind::Str; });
    if (ids != fields.end())
      diagnostic.help("`select(\"{}\") |> pack(…)`", ids->name);
    else if (is_text)
      diagnostic.help("`tokenize(tok) |> pack(…)` makes ids of texts");
    cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  const ExprView count = cx.at(packed->get<node::Op>()->args[1]);
  const Polynomial size = count.type.value ? *count.type.value : cx.program.atoms.unknown();
  packed->type = stream_of({{"tokens", Type::tensor(Element::I64, {Dim{.size = size, .group = 0}})}});
  return std::move(*packed);
}

}  // namespace ltr::check
