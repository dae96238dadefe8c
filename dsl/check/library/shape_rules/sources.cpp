#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

namespace {

Type tensor(Element element, const std::vector<Polynomial>& sizes) {
  std::vector<Dim> dims;
  for (const Polynomial& size : sizes) dims.push_back({.size = size, .group = 0});
  return Type::tensor(element, std::move(dims));
}

/// What a call of a source without a schema of its own delivers.
Expr source(const FnInfo& op, std::vector<TypeField> fields, std::vector<Expr> args, CallSite& site) {
  return typed_call(op, stream_of(std::move(fields)), site, std::move(args));
}

std::optional<std::vector<Expr>> arguments(const FnInfo& op, CallSite& site) {
  Binding binding;
  return op_arguments(op, site, binding);
}

/// The size that an argument gives.
Polynomial size_of(const ExprView& arg, CallSite& site) {
  return arg.type.value ? *arg.type.value : site.scope.cx.program.atoms.unknown();
}

}  // namespace

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

Expr rule_digits(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  return source(op, {{"image", tensor(Element::U8, {28, 28})}, {"label", tensor(Element::U8, {})}}, std::move(*args),
                site);
}

Expr rule_cifar10(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  return source(op, {{"image", tensor(Element::U8, {3, 32, 32})}, {"label", tensor(Element::U8, {})}}, std::move(*args),
                site);
}

Expr rule_text_chars(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  Expr stream = source(op, {{"ids", tensor(Element::I64, {})}}, std::move(*args), site);
  stream.type.has_vocab = true;
  return stream;
}

Expr rule_text_lines(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  return source(op, {{"text", Type::of(Kind::Str)}}, std::move(*args), site);
}

Expr rule_token_shards(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  const Polynomial window = size_of((*args)[1], site);
  return source(op, {{"tokens", tensor(Element::I32, {window})}}, std::move(*args), site);
}

Expr rule_image_folder(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  AtomTable& atoms = site.scope.cx.program.atoms;
  const Polynomial channels = size_of((*args)[1], site);
  const Polynomial height = atoms.unknown(), width = atoms.unknown();
  return source(op, {{"image", tensor(Element::U8, {channels, height, width})}, {"label", tensor(Element::I64, {})}},
                std::move(*args), site);
}

Expr rule_wav(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  AtomTable& atoms = site.scope.cx.program.atoms;
  const Polynomial channels = atoms.unknown(), samples = atoms.unknown();
  return source(op,
                {{"audio", tensor(Element::Float, {channels, samples})},
                 {"rate", Type::host_int(atoms.unknown())},
                 {"path", Type::of(Kind::Str)}},
                std::move(*args), site);
}

Expr rule_range(const FnInfo& op, CallSite& site) {
  auto args = arguments(op, site);
  if (!args) return error_at(site.span);
  return source(op, {{"i", Type::host_int(site.scope.cx.program.atoms.unknown())}}, std::move(*args), site);
}

// The schema is the argument that is named `as`.
Expr rule_table(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  std::optional<Type> schema;
  if (!site.given.empty() && site.given.back().name && site.given.back().name->text == "as") {
    schema = site.given.back().checked->type;
    site.given.pop_back();
  }
  auto args = arguments(op, site);
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
  if (!check_record(schema->fields, site.span, cx)) return error_at(site.span);
  return source(op, schema->fields, std::move(*args), site);
}

/// `synthetic(n, fn)` is `range(n) |> map(fn)`.
Expr rule_synthetic(const FnInfo&, CallSite& site) {
  Scope& scope = site.scope;
  if (site.given.size() != 2) {
    scope.cx.report(diag::wrong_argument(site.name_span, "`synthetic` is written `synthetic(1000, make)`"));
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
