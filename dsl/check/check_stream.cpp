#include "dsl/check/context.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

Type stream_of(std::vector<TypeField> fields, bool is_batched = false) {
  Type type = Type::of(Kind::Stream);
  type.fields = std::move(fields);
  type.uniform = is_batched;
  return type;
}

/// What a stage makes of a stream: other fields, the same vocabulary.
Type stream_behind(const Type& stream, std::vector<TypeField> fields) {
  Type type = stream_of(std::move(fields), stream.uniform);
  type.has_vocab = stream.has_vocab;
  return type;
}

Type tensor(Element element, const std::vector<Polynomial>& sizes) {
  std::vector<Dim> dims;
  for (const Polynomial& size : sizes) dims.push_back({.size = size, .group = 0});
  return Type::tensor(element, std::move(dims));
}

/// What a source delivers; nothing if `name` is none, or its schema must be written.
std::optional<Type> source_type(const std::string& name,
                                const std::vector<Expr>& args,
                                Context& cx) {
  if (name == "mnist" || name == "fashion_mnist") {
    return stream_of(
        {{"image", tensor(Element::U8, {28, 28})}, {"label", tensor(Element::U8, {})}});
  }
  if (name == "cifar10") {
    return stream_of(
        {{"image", tensor(Element::U8, {3, 32, 32})}, {"label", tensor(Element::U8, {})}});
  }
  if (name == "text_chars") {
    Type type = stream_of({{"ids", tensor(Element::I64, {})}});
    type.has_vocab = true;
    return type;
  }
  if (name == "text_lines") return stream_of({{"text", Type::of(Kind::Str)}});
  if (name == "token_shards") {
    const Polynomial window =
        args[1].type.value ? *args[1].type.value : cx.program.atoms.unknown();
    return stream_of({{"tokens", tensor(Element::I32, {window})}});
  }
  if (name == "range") return stream_of({{"i", Type::host_int(cx.program.atoms.unknown())}});
  if (name == "image_folder") {
    const Polynomial channels =
        args[1].type.value ? *args[1].type.value : cx.program.atoms.unknown();
    return stream_of({{"image", tensor(Element::U8, {channels, cx.program.atoms.unknown(),
                                                     cx.program.atoms.unknown()})},
                      {"label", tensor(Element::I64, {})}});
  }
  return std::nullopt;
}

/// A field in a window or batch: one more axis in front. Host fields become tensors; a str cannot.
std::optional<Type> widened(const TypeField& field,
                            const Polynomial& size,
                            Span span,
                            Scope& scope) {
  Type type = field.type;
  switch (type.kind) {
    case Kind::Int:
      type = Type::tensor(Element::I64, {});
      break;
    case Kind::Float:
      type = Type::tensor(Element::Float, {});
      break;
    case Kind::Bool:
      type = Type::tensor(Element::Bool, {});
      break;
    case Kind::Tensor:
      break;
    default:
      scope.cx.report(
          diag::cannot_collate(span, field.name, scope.cx.text(type))
              .help("encode it in a map: `class_of(row.{}, [\"…\", \"…\"])` is its number",
                    field.name));
      return std::nullopt;
  }
  type.dims.insert(type.dims.begin(), Dim{.size = size, .group = 0});
  return type;
}

/// Whether two streams deliver the same fields; the value of a host int is no part of its type
/// here.
bool equal_records(const Type& left, const Type& right) {
  if (left.fields.size() != right.fields.size() || left.uniform != right.uniform) return false;
  for (size_t i = 0; i < left.fields.size(); ++i) {
    Type a = left.fields[i].type, b = right.fields[i].type;
    a.value.reset();
    b.value.reset();
    if (left.fields[i].name != right.fields[i].name || !(a == b)) return false;
  }
  return true;
}

/// The function of a `map` or `filter`, its param matched with the stream's record.
FnInfo* map_function(const Given& given, const Type& stream, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const Expr value = check_given(given, scope);
  if (value.type.is_error()) return nullptr;
  FnInfo* fn = nullptr;
  if (value.type.kind == Kind::Function) {
    if (value.whole == 1 && scope.owner != nullptr && scope.owner->fns.contains(value.type.name)) {
      fn = scope.owner->fns.at(value.type.name).get();
    } else if (const Symbol* symbol = cx.graph.find(scope.module, value.type.name);
               symbol != nullptr && symbol->fn != nullptr) {
      fn = &fn_of(cx, *symbol);
    }
  }
  if (fn == nullptr) {
    cx.report(
        diag::wrong_argument(given.span, "`" + site.name + "` takes a function of this program"));
    return nullptr;
  }
  if (fn->is_op) {
    cx.report(
        diag::wrong_argument(
            given.span, "`" + site.name + "` takes a function of this program that maps records")
            .help("write a `fn` that takes the record and calls `{}`", fn->name));
    return nullptr;
  }
  check_body_of(cx, *fn);
  Type record = Type::of(Kind::Record);
  record.fields = stream.fields;
  // `synthetic` gives the number of the record alone.
  const bool takes_number = site.name == "synthetic" && fn->params.size() == 1 &&
                            fn->params[0].type.kind == Kind::Int;
  if (takes_number) return fn;
  if (fn->params.size() != 1 ||
      (fn->params[0].type.kind != Kind::Record && !fn->params[0].type.is_error())) {
    cx.report(
        diag::map_type(given.span, fn->name, "other parameters than one record", cx.text(record)));
    return nullptr;
  }
  for (const TypeField& wanted : fn->params[0].type.fields) {
    const auto have =
        std::find_if(record.fields.begin(), record.fields.end(),
                     [&](const TypeField& field) { return field.name == wanted.name; });
    const bool fits = have != record.fields.end() && have->type.kind == wanted.type.kind &&
                      have->type.element == wanted.type.element &&
                      have->type.dims.size() == wanted.type.dims.size();
    if (!fits) {
      cx.report(diag::map_type(given.span, fn->name, cx.text(fn->params[0].type), cx.text(record))
                    .label(fn->params[0].span, "`{}` is declared {} here", wanted.name,
                           cx.text(wanted.type)));
      return nullptr;
    }
  }
  Binding binding;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn->binders) free.insert(atom);
  if (!match(fn->params[0].type, record, binding, free, given.span, scope, "the record", false))
    return nullptr;
  return fn;
}

/// Whether records can have these fields: tensors, and host values that a cell holds.
bool check_record(const std::vector<TypeField>& fields, Span span, Context& cx) {
  for (const TypeField& field : fields) {
    switch (field.type.kind) {
      case Kind::Error:
      case Kind::Tensor:
      case Kind::Int:
      case Kind::Float:
      case Kind::Bool:
      case Kind::Str:
      case Kind::Path:
        continue;
      case Kind::Option:
        cx.report(diag::not_in_this_version(
            span, "a field that may be missing (`" + field.name + ": " + cx.text(field.type) + "`)"));
        return false;
      default:
        cx.report(diag::wrong_type(span, "the field `" + field.name + "` of a record cannot be " +
                                             cx.text(field.type))
                      .note("fields are tensors, int, float, bool, str or path"));
        return false;
    }
  }
  return true;
}

Expr check_map(Expr stream, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  if (site.given.size() < 2) {
    cx.report(diag::wrong_argument(site.name_span, "`map` needs a function: `map(prepare)`"));
    return error_at(site.span);
  }
  std::optional<Expr> skip_bad;
  for (size_t i = 2; i < site.given.size(); ++i) {
    const Given& given = site.given[i];
    const auto* call = given.value != nullptr ? given.value->get<ast::Call>() : nullptr;
    const auto* word = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
    const auto* plain = given.value != nullptr ? given.value->get<ast::NameRef>() : nullptr;
    if (given.name && given.name->text == "on_bad" && plain != nullptr &&
        plain->name.text == "fail")
      continue;
    if (given.name && given.name->text == "on_bad" && word != nullptr &&
        word->name.text == "skip" && call->arguments.size() == 1) {
      skip_bad = check_as(*call->arguments[0].value, Type::of(Kind::Int), scope,
                          "the number of bad records");
      if (skip_bad->type.is_error()) continue;
      const auto count = evaluate(*skip_bad, cx.program);
      if (!count || count->real >= 0) continue;
      cx.report(diag::out_of_range(skip_bad->span, "`skip` needs a number of records of at least 0")
                    .help("`on_bad = fail` ends at the first bad record"));
      return error_at(site.span);
    }
    cx.report(diag::wrong_argument(
        given.span, "`map` takes a function and `on_bad = fail` or `on_bad = skip(10)`"));
    return error_at(site.span);
  }
  FnInfo* fn = map_function(site.given[1], stream.type, site);
  if (fn == nullptr || (skip_bad && skip_bad->type.is_error())) return error_at(site.span);
  if (fn->result.is_error()) return error_at(site.span);
  if (fn->result.kind != Kind::Record) {
    cx.report(diag::map_type(site.given[1].span, fn->name, "to give " + cx.text(fn->result),
                             "records, and maps must give records"));
    return error_at(site.span);
  }
  if (!check_record(fn->result.fields, site.given[1].span, cx)) return error_at(site.span);
  Binding binding;
  Type record = Type::of(Kind::Record);
  record.fields = stream.type.fields;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn->binders) free.insert(atom);
  if (fn->params[0].type.kind == Kind::Record) {
    match(fn->params[0].type, record, binding, free, site.given[1].span, scope, "the record",
          false);
  } else {
    binding.dims[fn->params[0].atom] = cx.program.atoms.unknown();
  }
  const Type result = substitute(fn->result, binding, cx);
  Expr map = make_expr(ExprKind::MapStage, stream_behind(stream.type, result.fields), site.span,
                       {std::move(stream)}, fn->name);
  if (skip_bad) map.args.push_back(std::move(*skip_bad));
  map.fn = fn->index;
  return map;
}

Expr check_select(Expr stream, CallSite& site) {
  Context& cx = site.scope.cx;
  std::vector<TypeField> fields;
  Expr names = make_expr(ExprKind::List, Type::of(Kind::List), site.span);
  for (size_t i = 1; i < site.given.size(); ++i) {
    Expr name = check_given_as(site.given[i], Type::of(Kind::Str), site.scope, "a field's name");
    if (name.type.is_error()) return error_at(site.span);
    const auto field =
        std::find_if(stream.type.fields.begin(), stream.type.fields.end(),
                     [&](const TypeField& candidate) { return candidate.name == name.name; });
    if (name.kind != ExprKind::StrConst || field == stream.type.fields.end()) {
      std::vector<std::string> known;
      for (const TypeField& candidate : stream.type.fields) known.push_back(candidate.name);
      diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "the stream", name.name);
      if (const auto near = diagnostics::suggest(name.name, known))
        diagnostic.help("did you mean \"{}\"?", *near);
      cx.report(std::move(diagnostic));
      return error_at(site.span);
    }
    const bool is_taken = std::any_of(fields.begin(), fields.end(), [&](const TypeField& taken) { return taken.name == name.name; });
    if (is_taken) {
      cx.report(diag::wrong_argument(name.span, "`select` names \"" + name.name + "\" twice"));
      return error_at(site.span);
    }
    fields.push_back(*field);
    names.type.fields.push_back({"", name.type});
    names.args.push_back(std::move(name));
  }
  Type type = stream_behind(stream.type, std::move(fields));
  return op_expr("select", std::move(type), site.span, {std::move(stream), std::move(names)});
}

Expr check_split(const FnInfo& op, Expr stream, CallSite& site) {
  Context& cx = site.scope.cx;
  const auto bound = bind_arguments(op.params, site, "split");
  if (!bound) return error_at(site.span);
  Expr parts = check_given(*(*bound)[1], site.scope);
  if (parts.type.is_error()) return error_at(site.span);
  if (parts.kind != ExprKind::List || parts.args.empty()) {
    cx.report(diag::wrong_argument(
        parts.span, "`split` takes a list of counts or shares: `split([0.9, 0.1])`"));
    return error_at(site.span);
  }
  const bool is_counts = std::all_of(parts.args.begin(), parts.args.end(),
                                     [](const Expr& arg) { return arg.type.kind == Kind::Int; });
  Type wanted = Type::of(Kind::List);
  wanted.uniform = true;
  wanted.fields.push_back({"", Type::of(is_counts ? Kind::Int : Kind::Float)});
  parts = convert(std::move(parts), wanted, site.scope, "a part");
  if (parts.type.is_error()) return error_at(site.span);
  if (!is_counts) {
    double total = 0;
    bool all_known = true;
    for (const Expr& arg : parts.args) {
      all_known = all_known && arg.kind == ExprKind::FloatConst;
      total += arg.number;
    }
    if (all_known && total > 1.0 + 1e-9) {
      cx.report(diag::out_of_range(parts.span, "the shares add up to more than the whole"));
      return error_at(site.span);
    }
  }
  std::vector<Expr> args = {stream, parts};
  const size_t by = op.params.size() - 1;
  if (const Given* given = (*bound)[by]; given != nullptr && op.params[by].name == "by") {
    const Expr field = check_given(*given, site.scope);
    std::vector<std::string> known;
    for (const TypeField& candidate : stream.type.fields) known.push_back(candidate.name);
    if (field.kind == ExprKind::StrConst &&
        std::find(known.begin(), known.end(), field.name) == known.end()) {
      diagnostics::Diagnostic diagnostic =
          diag::unknown_field(field.span, "the stream", field.name);
      if (const auto near = diagnostics::suggest(field.name, known))
        diagnostic.help("did you mean \"{}\"?", *near).fix(field.span, "\"" + *near + "\"");
      cx.report(std::move(diagnostic));
      return error_at(site.span);
    }
  }
  for (size_t i = 2; i < op.params.size(); ++i) {
    if ((*bound)[i] != nullptr) {
      args.push_back(
          check_given_as(*(*bound)[i], op.params[i].type, site.scope, op.params[i].name.c_str()));
    } else {
      args.push_back(make_expr(ExprKind::NoneConst, op.params[i].type, site.span));
    }
    if (args.back().type.is_error()) return error_at(site.span);
  }
  Type list = Type::of(Kind::List);
  list.fields.assign(parts.args.size(), TypeField{"", stream.type});
  list.value = Polynomial(int64_t(parts.args.size()));
  return op_expr("split", std::move(list), site.span, std::move(args));
}

/// `synthetic(n, fn)` is `range(n) |> map(fn)`.
Expr check_synthetic(CallSite& site) {
  Scope& scope = site.scope;
  if (site.given.size() != 2) {
    scope.cx.report(
        diag::wrong_argument(site.name_span, "`synthetic` is written `synthetic(1000, make)`"));
    return error_at(site.span);
  }
  Expr count = check_given_as(site.given[0], Type::of(Kind::Int), scope, "the number of records");
  if (count.type.is_error()) return error_at(site.span);
  const std::string kRange = "range";
  CallSite numbers{kRange, site.name_span, site.span, {}, scope};
  numbers.given.push_back({std::nullopt, nullptr, std::move(count), site.span});
  std::optional<Expr> stream = check_stream_call(kRange, numbers);
  return check_map(std::move(*stream), site);
}

/// The fields of both streams; a name on both sides would hide one of them.
Expr check_zip(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  const Type& left = (*args)[0].type;
  const Type& right = (*args)[1].type;
  if (left.uniform != right.uniform) {
    cx.report(diag::wrong_place(site.span, "`zip` joins two streams of records, or of batches"));
    return error_at(site.span);
  }
  std::vector<TypeField> fields = left.fields;
  for (const TypeField& field : right.fields) {
    for (const TypeField& other : left.fields) {
      if (field.name != other.name) continue;
      cx.report(diag::wrong_argument(site.span, "both streams of `zip` have a field `" +
                                                    field.name + "`")
                    .help("leave one out with `select`, or name it anew in a map"));
      return error_at(site.span);
    }
    fields.push_back(field);
  }
  return op_expr("zip", stream_of(std::move(fields), left.uniform), site.span, std::move(*args));
}

}  // namespace

std::optional<Expr> check_stream_call(const std::string& name, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const auto symbol = cx.graph.stages.find(name);
  if (symbol == cx.graph.stages.end()) return std::nullopt;
  const FnInfo& op = fn_of(cx, symbol->second);
  const bool takes_stream = !op.params.empty() && op.params[0].type.kind == Kind::Stream;
  if (name == "synthetic") return check_synthetic(site);
  if (!takes_stream) {
    std::optional<Type> schema;
    if (!site.given.empty() && site.given.back().name && site.given.back().name->text == "as") {
      schema = site.given.back().checked->type;
      site.given.pop_back();
    }
    Binding binding;
    auto args = op_arguments(op, site, binding);
    if (!args || (schema && schema->is_error())) return error_at(site.span);
    if (name == "csv" || name == "idx") {
      if (!schema) {
        cx.report(
            diag::schema_needed(site.span, name)
                .help("say what is wanted: `{} as {NAME: float, …}`", cx.source_text(site.span)));
        return error_at(site.span);
      }
      if (schema->kind != Kind::Record) {
        cx.report(
            diag::wrong_type(site.span, "the columns of a file are written `as {name: float, …}`"));
        return error_at(site.span);
      }
      if (!check_record(schema->fields, site.span, cx)) return error_at(site.span);
      return op_expr(name, stream_of(schema->fields), site.span, std::move(*args));
    }
    if (const auto type = source_type(name, *args, cx))
      return op_expr(name, *type, site.span, std::move(*args));
    cx.report(diag::not_in_this_version(site.name_span, "the source `" + name + "`"));
    return error_at(site.span);
  }
  if (site.given.empty() || site.given[0].name) return std::nullopt;
  Expr stream = check_given(site.given[0], scope);
  if (stream.type.is_error()) return error_at(site.span);
  if (stream.type.kind != Kind::Stream) {
    if (cx.graph.prelude.contains(name)) return std::nullopt;
    cx.report(diag::wrong_argument(stream.span,
                                   "`" + name + "` takes a stream, not " + cx.text(stream.type)));
    return error_at(site.span);
  }
  site.given[0].checked = stream;
  if (name == "map") return check_map(std::move(stream), site);
  if (name == "select") return check_select(std::move(stream), site);
  if (name == "split") return check_split(op, std::move(stream), site);
  if (name == "zip") return check_zip(op, site);
  if (name == "filter") {
    cx.report(diag::not_in_this_version(site.name_span, "the stage `" + name + "`"));
    return error_at(site.span);
  }
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  Type type = stream.type;
  if ((name == "collate" || name == "window") && (*args)[1].kind == ExprKind::IntConst &&
      (*args)[1].whole < 1) {
    cx.report(diag::out_of_range((*args)[1].span, "`" + name + "` needs a size of at least 1"));
    return error_at(site.span);
  }
  if (name == "collate" || name == "window") {
    if (type.uniform) {
      cx.report(diag::wrong_place(
          site.name_span,
          "`" + name + "` stands behind `collate`, where there are batches already"));
      return error_at(site.span);
    }
    const Polynomial size = name == "window" && (*args)[1].type.value ? *(*args)[1].type.value
                                                                      : cx.program.atoms.unknown();
    for (TypeField& field : type.fields) {
      const auto wide = widened(field, size, site.name_span, scope);
      if (!wide) return error_at(site.span);
      if (name == "collate") {
        for (size_t i = 1; i < wide->dims.size(); ++i) {
          if (!cx.program.atoms.mentions_unknown(wide->dims[i].size)) continue;
          cx.report(diag::cannot_collate(site.name_span, field.name, cx.text(field.type))
                        .note("its size differs from record to record")
                        .help("bring all records to one size in a map, such as `resize(64, 64)`"));
          return error_at(site.span);
        }
      }
      field.type = *wide;
    }
    type.uniform = name == "collate";
  }
  if (name == "concat" && !equal_records((*args)[1].type, type)) {
    cx.report(diag::wrong_argument(site.span, "`concat` joins streams of equal records, not " +
                                                  cx.text(type) + " and " +
                                                  cx.text((*args)[1].type)));
    return error_at(site.span);
  }
  if (name == "concat") type.has_vocab = false;  // Each part has numbered its characters for itself.
  if (name == "vocab") return field_of(std::move(stream), {name, site.name_span}, site.span, scope);
  return op_expr(name, std::move(type), site.span, std::move(*args));
}

}  // namespace ltr::check
