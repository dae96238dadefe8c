#include <algorithm>
#include <unordered_map>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"
#include "dsl/check/scope/reported.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/ranges.h"

namespace ltr::check {

namespace {

/// What a stage makes of a stream: other fields, the same vocabulary.
Type stream_behind(const Type& stream, std::vector<TypeField> fields) {
  Type type = stream_of(std::move(fields), stream.uniform);
  type.has_vocab = stream.has_vocab;
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

/// `x => …` as a function of the data, or of the file where the stream stands elsewhere, that takes one record.
FnInfo* lambda_function(const ast::Lambda& lambda, const Type& record, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  ast::Fn& written = cx.declared.synthetic.emplace_back();
  written.name = {"lambda", lambda.param.span};
  written.value = *lambda.value;
  auto made = std::make_unique<FnInfo>();
  FnInfo* fn = made.get();
  fn->name = "lambda";
  fn->ast = &written;
  fn->module = scope.module;
  fn->owner = scope.owner;
  fn->role = FnRole::Method;
  fn->infers_result = true;
  fn->result = Type::of(Kind::Void);
  fn->params.push_back({.name = lambda.param.text, .type = record, .span = lambda.param.span});
  fn->index = uint32_t(cx.program.fns.size());
  cx.program.fns.emplace_back();
  cx.program.fns.back().name = fn->name;
  const std::string key = "lambda " + std::to_string(fn->index);
  scope.owner->fn_order.push_back(key);
  scope.owner->fns[key] = std::move(made);
  check_body_of(cx, *fn);
  return fn;
}

/// The function of a `map` or `filter`, its param matched with the stream's record.
FnInfo* map_function(const Given& given, const Type& stream, bool is_numbered, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const auto* lambda = given.value != nullptr ? given.value->get<ast::Lambda>() : nullptr;
  if (lambda != nullptr && scope.owner != nullptr) {
    Type record = Type::of(Kind::Record);
    record.fields = stream.fields;
    return lambda_function(*lambda, record, site);
  }
  const Expr value = check_given(given, scope);
  if (value.type.is_error()) return nullptr;
  FnInfo* fn = nullptr;
  if (value.type.kind == Kind::Function) {
    const auto* named = value.get<node::FnValue>();
    if (named != nullptr && named->is_method && scope.owner != nullptr && scope.owner->fns.contains(value.type.name)) {
      fn = scope.owner->fns.at(value.type.name).get();
    } else if (const Symbol* symbol = named_function(value.type, scope); symbol != nullptr && symbol->fn != nullptr) {
      fn = &fn_of(cx, *symbol);
    }
  }
  if (fn == nullptr) {
    diagnostics::Diagnostic diagnostic = diag::wrong_argument(
        given.span, "`" + site.name + "` takes a function of this program, not " + cx.text(value.type));
    if (!stream.fields.empty()) diagnostic.help("of a field: `row => row.{}`", stream.fields[0].name);
    cx.report(std::move(diagnostic));
    return nullptr;
  }
  if (fn->is_op) {
    cx.report(diag::wrong_argument(given.span, "`" + site.name + "` takes a function of this program that maps records")
                  .help("write a `fn` that takes the record and calls `{}`", fn->name));
    return nullptr;
  }
  check_body_of(cx, *fn);
  Type record = Type::of(Kind::Record);
  record.fields = stream.fields;
  const bool takes_number = is_numbered && fn->params.size() == 1 && fn->params[0].type.kind == Kind::Int;
  if (takes_number) return fn;
  if (fn->params.size() != 1 || (fn->params[0].type.kind != Kind::Record && !fn->params[0].type.is_error())) {
    const bool is_number = is_numbered && fn->params.size() == 1 && fn->params[0].type.is_host_number();
    diagnostics::Diagnostic diagnostic = diag::map_type(
        given.span, fn->name, is_number ? cx.text(fn->params[0].type) : std::string("other parameters than one record"),
        cx.text(record));
    if (is_number)
      diagnostic.help("the number of the record is an int: `{}: int`", fn->params[0].name)
          .label(fn->params[0].span, "declared here");
    cx.report(std::move(diagnostic));
    for (ParamInfo& param : fn->params) param.type = Type::error();  // Other streams that it maps say the same.
    return nullptr;
  }
  for (const TypeField& wanted : fn->params[0].type.fields) {
    const TypeField* have = record.find(wanted.name);
    if (wanted.type.is_error() || (have != nullptr && have->type.is_error())) continue;
    if (have == nullptr && is_told_missing(record, wanted.name, cx)) continue;
    const bool fits = have != nullptr && have->type.kind == wanted.type.kind &&
                      have->type.element == wanted.type.element && have->type.dims.size() == wanted.type.dims.size();
    if (!fits) {
      diagnostics::Diagnostic diagnostic =
          diag::map_type(given.span, fn->name, cx.text(fn->params[0].type), cx.text(record))
              .tie(diagnostics::Tie::Declared, fn->params[0].span, "`{}` is declared {} here", wanted.name,
                   cx.text(wanted.type));
      std::vector<std::string> others;
      for (const TypeField& field : record.fields) others.push_back(field.name);
      const auto near = have == nullptr ? diagnostics::suggest(wanted.name, others) : std::nullopt;
      if (near) diagnostic.help("it takes `{}`: did you mean `{}`?", wanted.name, *near);
      cx.report(std::move(diagnostic));
      fn->params[0].type = Type::error();  // Other streams that it maps do not have it either.
      return nullptr;
    }
  }
  if (fits_record(*fn, record, given.span, scope)) return fn;
  if (fn->ast != nullptr) withdraw_uses(*fn, {fn->params[0].name}, cx, true);
  return nullptr;
}

}  // namespace

std::optional<Expr> stage(const FnInfo& op, CallSite& site) {
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return std::nullopt;
  Type type = (*args)[0].type;
  return typed_call(op, std::move(type), site, std::move(*args));
}

/// Where a lambda that gives a record writes its fields.
std::unordered_map<std::string_view, Span> places_of_fields(const Given& function) {
  const auto* lambda = function.value != nullptr ? function.value->get<ast::Lambda>() : nullptr;
  const auto* record = lambda != nullptr ? lambda->value->get<ast::Record>() : nullptr;
  std::unordered_map<std::string_view, Span> places;
  if (record == nullptr) return places;
  for (const ast::RecordField& one : record->fields) places.try_emplace(one.name.text, one.value->span);
  return places;
}

Expr map_stream(Expr stream, bool is_numbered, CallSite& site) {
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
    if (given.name && given.name->text == "on_bad" && plain != nullptr && plain->name.text == "fail") continue;
    if (given.name && given.name->text == "on_bad" && word != nullptr && word->name.text == "skip" &&
        call->arguments.size() == 1) {
      skip_bad = check_as(*call->arguments[0].value, Type::of(Kind::Int), scope, "the number of bad records");
      if (skip_bad->type.is_error()) continue;
      const auto count = evaluate(*skip_bad, cx.program);
      if (!count || count->real >= 0) continue;
      cx.report(diag::out_of_range(skip_bad->span, "`skip` needs a number of records of at least 0")
                    .help("`on_bad = fail` ends at the first bad record"));
      return error_at(site.span);
    }
    cx.report(diag::wrong_argument(given.span, "`map` takes a function and `on_bad = fail` or `on_bad = skip(10)`"));
    return error_at(site.span);
  }
  FnInfo* fn = map_function(site.given[1], stream.type, is_numbered, site);
  if (fn == nullptr || (skip_bad && skip_bad->type.is_error())) return error_at(site.span);
  if (fn->result.is_error()) return error_at(site.span);
  warn_of_quotients(*fn, scope);
  if (fn->result.kind != Kind::Record) {
    cx.report(diag::map_type(site.given[1].span, fn->name, "to give " + cx.text(fn->result),
                             "records, and maps must give records"));
    return error_at(site.span);
  }
  const std::unordered_map<std::string_view, Span> places = places_of_fields(site.given[1]);
  for (const TypeField& field : fn->result.fields) {
    const auto place = places.find(field.name);
    if (!check_record({field}, place != places.end() ? place->second : site.given[1].span, cx))
      return error_at(site.span);
  }
  // A size that the function names and nobody declares is a mistake there; what it would be in a batch is not known.
  const bool has_unknown_binder = std::any_of(fn->binders.begin(), fn->binders.end(), [&](const auto& binder) {
    return cx.program.atoms.at(binder.second).kind == Atom::Kind::Unknown;
  });
  if (has_unknown_binder) return error_at(site.span);
  Binding binding;
  Type record = Type::of(Kind::Record);
  record.fields = stream.type.fields;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn->binders) free.insert(atom);
  if (fn->params[0].type.kind == Kind::Record) {
    match(fn->params[0].type, record, binding, free, site.given[1].span, scope, "the record", false);
  } else {
    bind_sizes(fn->params[0].type, Type::error(), binding, cx);
  }
  const Type result = substitute(fn->result, binding, cx);
  Type type = stream_behind(stream.type, result.fields);
  node::MapStage map{.stream = cx.keep(std::move(stream)),
                     .fn = fn->index,
                     .written = cx.source_text(site.given[1].span),
                     .skip_bad = {}};
  if (skip_bad) map.skip_bad = cx.keep(std::move(*skip_bad));
  return {std::move(type), site.span, std::move(map)};
}

Expr mapped_value(const ExprView& stream, const Given& given, const Type& wanted, CallSite& site) {
  Context& cx = site.scope.cx;
  FnInfo* fn = map_function(given, stream.type, false, site);
  if (fn == nullptr || fn->result.is_error()) return error_at(site.span);
  const bool fits =
      fn->result.kind == wanted.kind && (wanted.kind != Kind::List || (fn->result.fields[0].type.kind == Kind::Str));
  if (!fits) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(given.span, "`" + fn->name + "` gives " + cx.text(fn->result) + ", and `" + site.name +
                                         "` wants " + cx.text(wanted));
    if (fn->ast != nullptr && fn->ast->result) diagnostic.label(fn->ast->result->span, "declared here");
    if (wanted.kind == Kind::Int && fn->result.kind == Kind::Float)
      diagnostic.help("`floor(…)`, `ceil(…)` and `round(…)` make an int of a float: `-> int`");
    cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  Type value = fn->result;
  value.value.reset();
  return {stream_of({{"value", std::move(value)}}), site.span,
          node::MapStage{cx.keep(stream), fn->index, cx.source_text(given.span), {}}};
}

Expr rule_map(const FnInfo&, CallSite& site) { return map_stream(*site.given[0].checked, false, site); }

Expr rule_filter(const FnInfo&, CallSite& site) {
  Context& cx = site.scope.cx;
  Expr stream = *site.given[0].checked;
  const bool is_written = site.given.size() == 2 && (!site.given[1].name || site.given[1].name->text == "fn");
  if (!is_written) {
    cx.report(diag::wrong_argument(site.name_span, "`filter` takes a function: `filter(row => row.x > 0)`"));
    return error_at(site.span);
  }
  if (!stands_before_batches(stream.type, site)) return error_at(site.span);
  const FnInfo* fn = map_function(site.given[1], stream.type, false, site);
  if (fn == nullptr || fn->result.is_error()) return error_at(site.span);
  const Type& result = fn->result;
  const bool tells =
      result.kind == Kind::Bool || (result.is_tensor() && result.element == Element::Bool && result.dims.empty());
  if (!tells) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        site.given[1].span, "`filter` keeps the records for which a bool is true, not " + cx.text(result));
    if (result.is_tensor() && result.element == Element::Bool)
      diagnostic.help("`all(…)` or `any(…)` make one bool of many");
    cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  Type same = stream.type;
  return {std::move(same), site.span,
          node::FilterStage{cx.keep(std::move(stream)), fn->index, cx.source_text(site.given[1].span)}};
}

Expr rule_same_fields(const FnInfo& op, CallSite& site) {
  auto same = stage(op, site);
  return same ? std::move(*same) : error_at(site.span);
}

Expr rule_concat(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto both = stage(op, site);
  if (!both) return error_at(site.span);
  const Type& second = cx.at(both->get<node::Op>()->args[1]).type;
  if (!equal_records(second, both->type)) {
    cx.report(diag::wrong_argument(
        site.span, "`concat` joins streams of equal records, not " + cx.text(both->type) + " and " + cx.text(second)));
    return error_at(site.span);
  }
  both->type.has_vocab = false;  // Each part has numbered its characters for itself.
  return std::move(*both);
}

/// Whether the numbers of a list keep to the table of ranges, as far as the program says them; E0325 of the first that does not.
bool are_in_range(const ExprView& list, const std::string& path, const std::string& what, Context& cx) {
  const auto* written = list.get<node::List>();
  for (const ExprId id : written != nullptr ? written->elements : ExprIds()) {
    const ExprView part = cx.at(id);
    const auto number = evaluate(part, cx.program);
    const auto rule = number ? broken_rule(path, number->real) : std::nullopt;
    if (!rule) continue;
    cx.report(diag::out_of_range(part.span, what + " cannot be " + cx.source_text(part.span)).note("`{}`", *rule));
    return false;
  }
  return true;
}

/// The parts keep their own types: `list[stream]` says nothing of what they deliver.
Expr rule_mix(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  // Streams one by one may be more arguments than it takes.
  if (!site.given.empty() && !site.given[0].name) site.given[0].checked = check_given(site.given[0], site.scope);
  const bool is_one = !site.given.empty() && site.given[0].checked && site.given[0].checked->type.kind == Kind::Stream;
  const auto bound = is_one ? std::nullopt : bind_arguments(op.params, site, op.name);
  if (!bound && !is_one) return error_at(site.span);
  Expr streams = is_one ? *site.given[0].checked : check_given(*(*bound)[0], site.scope);
  if (streams.type.is_error()) return error_at(site.span);
  const std::vector<TypeField> parts = streams.type.fields;
  const bool are_streams =
      streams.type.kind == Kind::List && !parts.empty() &&
      std::all_of(parts.begin(), parts.end(), [](const TypeField& part) { return part.type.kind == Kind::Stream; });
  if (!are_streams) {
    cx.report(diag::wrong_argument(streams.span, "`mix` takes a list of streams, not " + cx.text(streams.type))
                  .help("`mix([a, b], [0.7, 0.3])`"));
    return error_at(site.span);
  }
  for (const TypeField& part : parts) {
    if (equal_records(part.type, parts[0].type)) continue;
    cx.report(diag::wrong_argument(site.span, "`mix` joins streams of equal records, not " + cx.text(parts[0].type) +
                                                  " and " + cx.text(part.type)));
    return error_at(site.span);
  }
  const Given* given = (*bound)[1];
  std::vector<Expr> before;  // what the default rests on
  Expr weights = given != nullptr ? check_given_as(*given, op.params[1].type, site.scope, "`weights` of `mix`")
                                  : default_of(op.params, 1, before, op.module, site.scope);
  if (weights.type.is_error()) return error_at(site.span);
  const size_t count = weights.type.fields.size();
  if (given != nullptr && !weights.type.uniform && count != parts.size()) {
    cx.report(diag::wrong_argument(weights.span, "`mix` has " + std::to_string(parts.size()) + " streams and " +
                                                     std::to_string(count) + " weights")
                  .help("each stream has one: `mix([a, b], [0.7, 0.3])`"));
    return error_at(site.span);
  }
  if (!are_in_range(weights, "data.mix.weights", "a weight", cx)) return error_at(site.span);
  Type type = stream_of(parts[0].type.fields, parts[0].type.uniform);
  return typed_call(op, std::move(type), site, {std::move(streams), std::move(weights)});
}

Expr rule_select_fields(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  Expr stream = *site.given[0].checked;
  std::vector<TypeField> fields;
  Type name_types = Type::of(Kind::List);
  std::vector<Expr> names;
  std::vector<Expr> given;
  for (size_t i = 1; i < site.given.size(); ++i) {
    const ast::Expr* argument = site.given[i].value;
    const auto* list = argument != nullptr ? argument->get<ast::List>() : nullptr;
    if (list == nullptr) {
      given.push_back(check_given_as(site.given[i], Type::of(Kind::Str), site.scope, "a field's name"));
      continue;
    }
    // `select(["x", "y"])` is the same as `select("x", "y")`.
    for (const ast::Expr& element : list->elements)
      given.push_back(check_as(element, Type::of(Kind::Str), site.scope, "a field's name"));
  }
  for (Expr& name : given) {
    if (name.type.is_error()) return error_at(site.span);
    const auto* written = name.get<node::StrConst>();
    const std::string word = written != nullptr ? written->text : "";
    const TypeField* field = stream.type.find(word);
    if (written == nullptr || field == nullptr) {
      std::vector<std::string> known;
      for (const TypeField& candidate : stream.type.fields) known.push_back(candidate.name);
      if (is_told_missing(stream.type, word, cx)) return error_at(site.span);
      diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "the stream", word);
      if (const auto near = diagnostics::suggest(word, known)) {
        diagnostic.help("did you mean \"{}\"?", *near).guess(name.span, "\"" + *near + "\"");
      } else {
        note_known(diagnostic, known);
      }
      cx.report(std::move(diagnostic));
      return error_at(site.span);
    }
    const bool is_taken =
        std::any_of(fields.begin(), fields.end(), [&](const TypeField& taken) { return taken.name == word; });
    if (is_taken) {
      cx.report(diag::wrong_argument(name.span, "`select` names \"" + word + "\" twice"));
      return error_at(site.span);
    }
    fields.push_back(*field);
    name_types.fields.push_back({"", name.type});
    names.push_back(std::move(name));
  }
  Type type = stream_behind(stream.type, std::move(fields));
  Expr list{std::move(name_types), site.span, node::List{cx.keep(std::move(names))}};
  return typed_call(op, std::move(type), site, {std::move(stream), std::move(list)});
}

bool names_field(const ExprView& name, const Type& stream, Context& cx) {
  std::vector<std::string> known;
  for (const TypeField& candidate : stream.fields) known.push_back(candidate.name);
  const auto* word = name.get<node::StrConst>();
  if (word == nullptr || std::find(known.begin(), known.end(), word->text) != known.end()) return true;
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "the stream", word->text);
  if (const auto near = diagnostics::suggest(word->text, known))
    diagnostic.help("did you mean \"{}\"?", *near).guess(name.span, "\"" + *near + "\"");
  if (diagnostic.helps.empty()) note_known(diagnostic, known);
  if (!is_told_missing(stream, word->text, cx)) cx.report(std::move(diagnostic));
  return false;
}

Expr rule_split_stream(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  const Expr stream = *site.given[0].checked;
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return error_at(site.span);
  Expr parts = check_given(*(*bound)[1], site.scope);
  if (parts.type.is_error()) return error_at(site.span);
  const auto* written = parts.get<node::List>();
  if (written == nullptr || written->elements.empty()) {
    cx.report(diag::wrong_argument(parts.span, "`split` takes a list of counts or shares: `split([0.9, 0.1])`"));
    return error_at(site.span);
  }
  const bool is_counts = std::all_of(written->elements.begin(), written->elements.end(),
                                     [&](ExprId part) { return cx.at(part).type.kind == Kind::Int; });
  const Type wanted = Type::list_of(Type::of(is_counts ? Kind::Int : Kind::Float));
  parts = convert(std::move(parts), wanted, site.scope, "a part");
  if (parts.type.is_error()) return error_at(site.span);
  if (!are_in_range(parts, "data.split.parts", "a part", cx)) return error_at(site.span);
  const ExprIds& shares = parts.get<node::List>()->elements;
  const size_t count = shares.size();
  if (!is_counts) {
    double total = 0;
    bool all_known = true;
    for (const ExprId id : shares) {
      const auto* share = cx.at(id).get<node::FloatConst>();
      all_known = all_known && share != nullptr;
      if (share != nullptr) total += share->value;
    }
    if (all_known && total > 1.0 + 1e-9) {
      cx.report(diag::out_of_range(parts.span, "the shares add up to more than the whole")
                    .help("so many records are whole numbers, `split([320, 80])`, and shares add up to 1"));
      return error_at(site.span);
    }
  }
  std::vector<Expr> args = {stream, parts};
  const size_t by = op.params.size() - 1;
  if (const Given* given = (*bound)[by]; given != nullptr && op.params[by].name == "by") {
    if (!names_field(check_given(*given, site.scope), stream.type, cx)) return error_at(site.span);
  }
  for (size_t i = 2; i < op.params.size(); ++i) {
    if ((*bound)[i] != nullptr) {
      args.push_back(check_given_as(*(*bound)[i], op.params[i].type, site.scope, op.params[i].name.c_str()));
    } else {
      args.push_back({op.params[i].type, site.span, node::NoneConst{}});
    }
    if (args.back().type.is_error()) return error_at(site.span);
  }
  Type list = Type::of(Kind::List);
  list.fields.assign(count, TypeField{"", stream.type});
  list.value = Polynomial(int64_t(count));
  return typed_call(op, std::move(list), site, std::move(args));
}

/// The fields of both streams; a name on both sides would hide one of them.
Expr rule_zip(const FnInfo& op, CallSite& site) {
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
      cx.report(diag::wrong_argument(site.span, "both streams of `zip` have a field `" + field.name + "`")
                    .help("leave one out with `select`, or name it anew in a map"));
      return error_at(site.span);
    }
    fields.push_back(field);
  }
  return typed_call(op, stream_of(std::move(fields), left.uniform), site, std::move(*args));
}

}  // namespace ltr::check
