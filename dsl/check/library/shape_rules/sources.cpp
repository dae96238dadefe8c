#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

Type stream_of(std::vector<TypeField> fields, bool is_batched) {
  Type type = Type::of(Kind::Stream);
  type.fields = std::move(fields);
  type.uniform = is_batched;
  return type;
}

bool check_record(const std::vector<TypeField>& fields, Span span, Context& cx) {
  for (const TypeField& field : fields) {
    switch (field.type.kind) {
      case Kind::Error:
      case Kind::Tensor:
      case Kind::Int:
      case Kind::Float:
      case Kind::Bool:
      case Kind::Str:
      case Kind::Path: continue;
      case Kind::Option: {
        const Type& inner = field.type.fields[0].type;
        if (inner.is_host_number() || inner.kind == Kind::Str || inner.kind == Kind::Path) continue;
        [[fallthrough]];
      }
      default: {
        diagnostics::Diagnostic diagnostic =
            diag::wrong_type(span, "the field `" + field.name + "` of a record cannot be " + cx.text(field.type));
        diagnostic.note("fields are tensors, int, float, bool, str, path, or options of these host values");
        if (is_made_of(field.type, {Kind::List, Kind::Int, Kind::Float, Kind::Bool, Kind::Tensor}))
          diagnostic.help("a list becomes a tensor by `stack`: `{} = stack([…])`", field.name);
        cx.report(std::move(diagnostic));
        return false;
      }
    }
  }
  return true;
}

// Sizes that files say differ from call to call, so each call has its own.
Expr rule_source(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  Type type = substitute(op.result, binding, cx);
  forget_unbound(type, free_atoms(op), cx);
  AtomTable& atoms = cx.program.atoms;
  for (TypeField& field : type.fields) {
    if (field.type.kind == Kind::Int) field.type = Type::host_int(atoms.unknown());
    for (Dim& dim : field.type.dims) {
      if (atoms.mentions_unknown(dim.size)) dim.size = atoms.unknown();
    }
  }
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_text_chars(const FnInfo& op, CallSite& site) {
  Expr stream = rule_source(op, site);
  stream.type.has_vocab = !stream.type.is_error();
  return stream;
}

// The schema is the argument that is named `as`.
Expr rule_table(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  std::optional<Type> schema;
  if (!site.given.empty() && site.given.back().name && site.given.back().name->text == "as") {
    schema = site.given.back().checked->type;
    site.given.pop_back();
  }
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args || (schema && schema->is_error())) return error_at(site.span);
  if (!schema) {
    cx.report(diag::schema_needed(site.span, op.name)
                  .help("say what is wanted: `{} as {NAME: float, …}`", cx.source_text(site.span)));
    return error_at(site.span);
  }
  if (schema->kind != Kind::Record) {
    cx.report(diag::wrong_type(site.span, "the columns of a file are written `as {name: float, …}`"));
    return error_at(site.span);
  }
  for (const TypeField& field : schema->fields) {
    if (!check_record({field}, schema_place(field.name, site.span, cx), cx)) return error_at(site.span);
  }
  return typed_call(op, stream_of(std::move(schema->fields)), site, std::move(*args));
}

/// `synthetic(n, fn)` is `range(n) |> map(fn)`.
Expr rule_synthetic(const FnInfo&, CallSite& site) {
  Scope& scope = site.scope;
  if (site.given.size() != 2) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_argument(site.name_span, "`synthetic` is written `synthetic(1000, make)`");
    const bool has_seed =
        std::ranges::any_of(site.given, [](const Given& one) { return one.name && one.name->text == "seed"; });
    if (has_seed) diagnostic.help("what `make` draws follows the seed of the run, `seed` in the `trainer`");
    scope.cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  Expr count = check_given(site.given[0], scope);
  if (count.type.kind == Kind::Function) {
    const std::string make = scope.cx.source_text(site.given[0].span), n = scope.cx.source_text(site.given[1].span);
    scope.cx.report(diag::wrong_argument(count.span, "the number of records comes first, and this is a function")
                        .help("`synthetic({}, {})`", n, make)
                        .fix(site.given[0].span, n)
                        .fix(site.given[1].span, make));
    return error_at(site.span);
  }
  count = convert(std::move(count), Type::of(Kind::Int), scope, "the number of records");
  if (count.type.is_error()) return error_at(site.span);
  const FnInfo& range = fn_of(scope.cx, library::Id::Range);
  CallSite numbers{range.name, site.name_span, site.span, {}, scope};
  const Span place = count.span;
  numbers.given.push_back({std::nullopt, nullptr, std::move(count), place});
  Expr records = call_by_rule(range, numbers);
  if (records.type.is_error()) return error_at(site.span);
  return map_stream(std::move(records), true, site);
}

}  // namespace ltr::check
