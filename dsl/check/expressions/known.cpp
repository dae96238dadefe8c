// Fields and methods of what is known of a stream: `seen.age.mean`, `words.encode(…)`.

#include "dsl/check/expressions/known.h"

#include <algorithm>

#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/scope/members.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

using library::Id;

const Type& present(const Type& type) { return type.kind == Kind::Option ? type.fields[0].type : type; }

/// What may be asked of a field, by what it holds.
bool is_number(const Type& type) {
  const Type& held = present(type);
  return held.is_host_number() || (held.is_tensor() && held.dims.empty());
}
bool is_whole(const Type& type) {
  const Type& held = present(type);
  const bool is_tensor = held.is_tensor() && held.dims.empty() && !is_floating(held.element);
  return held.kind == Kind::Int || held.kind == Kind::Bool || is_tensor;
}
bool is_bool(const Type& type) {
  const Type& held = present(type);
  return held.kind == Kind::Bool || (held.is_tensor() && held.element == Element::Bool);
}
bool is_text(const Type& type) { return present(type).kind == Kind::Str || present(type).kind == Kind::Path; }

bool has_fact(const Type& type, const FactField& fact) {
  switch (fact.of) {
    case FactField::Of::Numbers: return is_number(type);
    case FactField::Of::All: return true;
    case FactField::Of::Classes: return is_text(type) || is_whole(type);
  }
  return false;
}

/// The same value as every place of the program reads it: through the wired data. Nothing for what no name leads to.
std::optional<Expr> through_data(const ExprView& expr, Context& cx) {
  const auto* member = expr.get<node::Member>();
  if (member != nullptr) {
    const ExprView object = cx.at(member->object);
    const bool is_own = object.is<node::Self>() && object.type.kind == Kind::Data;
    return is_own ? std::optional(Expr{expr.type, expr.span, node::DataMember{member->name}}) : std::nullopt;
  }
  if (expr.is<node::DataMember>() || expr.is<node::StrConst>()) return expr;
  const auto* op = expr.get<node::Op>();
  if (op == nullptr) return std::nullopt;
  ExprIds args;
  for (const ExprId arg : op->args) {
    auto through = through_data(cx.at(arg), cx);
    if (!through) return std::nullopt;
    args.push_back(cx.keep(std::move(*through)));
  }
  return op_expr(op->op, expr.type, expr.span, std::move(args));
}

/// `data.seen.city` of what `through_data` gives.
std::string path_of(const ExprView& expr, const Context& cx) {
  if (const auto* member = expr.get<node::DataMember>()) return "data." + member->name;
  const auto* op = expr.get<node::Op>();
  return path_of(cx.at(op->args[0]), cx) + "." + text_of(cx.at(op->args[1]));
}

/// An int that the data tells, as a dim.
Expr as_dim(Expr value, const std::string& name, Scope& scope) {
  Context& cx = scope.cx;
  const auto same = through_data(value, cx);
  if (!same) return value;
  const ExprView of = cx.at(same->get<node::Op>()->args[0]);
  const AtomId atom = cx.program.atoms.variable(path_of(of, cx) + "." + name, 0, false, true);
  value.type.value = Polynomial::atom(atom);
  Expr known = *same;
  known.type = value.type;
  cx.program.sizes_at_start[atom] = std::move(known);
  return value;
}

void report_unknown_fact(const ExprView& base, const ast::Name& name, const std::vector<std::string>& known,
                         Scope& scope) {
  if (base.type.kind == Kind::Facts && is_told_missing(base.type, name.text, scope.cx)) return;
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, scope.cx.text(base.type), name.text);
  if (!known.empty()) note_known(diagnostic, known);
  const auto field = std::ranges::find(base.type.fields, name.text, &TypeField::name);
  if (base.type.kind == Kind::Facts && field != base.type.fields.end())
    diagnostic.note("facts are of numbers and texts, and this is {}", scope.cx.text(field->type))
        .help("take them of the rows before a stage such as `window` makes tensors of them");
  else
    did_you_mean(diagnostic, name.text, name.span, known);
  if (base.type.kind == Kind::FieldFacts) label_declared_field(diagnostic, base.type.fields[0].name, scope);
  scope.cx.report(std::move(diagnostic));
}

Expr facts_of_field(Expr base, const ast::Name& name, Span span, Scope& scope) {
  std::vector<std::string> known;
  for (const TypeField& field : base.type.fields) {
    if (!is_number(field.type) && !is_text(field.type)) continue;
    known.push_back(field.name);
    if (field.name != name.text) continue;
    scope.cx.program.fact_fields[base.type.name].insert(field.name);
    Type type = Type::of(Kind::FieldFacts);
    type.fields = {field};
    const ExprId label = scope.cx.keep(str_const(name.text, name.span));
    return op_expr(Id::FieldFacts, std::move(type), span, {scope.cx.keep(std::move(base)), label});
  }
  report_unknown_fact(base, name, known, scope);
  return error_at(span);
}

Expr fact(Expr base, const ast::Name& name, Span span, Scope& scope) {
  const Type field = base.type.fields[0].type;
  std::vector<std::string> known;
  for (const FactField& one : kFactFields) {
    if (has_fact(field, one)) known.emplace_back(one.name);
  }
  const FactField* found = find_member(kFactFields, name.text);
  if (found == nullptr || !has_fact(field, *found)) {
    report_unknown_fact(base, name, known, scope);
    return error_at(span);
  }
  switch (found->op) {
    case Id::FactMissing:
    case Id::FactCount: return op_expr(found->op, Type::host_int(), span, {scope.cx.keep(std::move(base))});
    case Id::FactUnique:
      return as_dim(op_expr(found->op, Type::host_int(), span, {scope.cx.keep(std::move(base))}), name.text, scope);
    case Id::FactTexts:
    case Id::FactCounts:
    case Id::FactClassWeights: {
      const Expr unique =
          as_dim(op_expr(Id::FactUnique, Type::host_int(), span, {scope.cx.keep(base)}), "unique", scope);
      Id op = found->op;
      if (op == Id::FactTexts && !is_text(field)) op = is_bool(field) ? Id::FactBools : Id::FactInts;
      const Kind element = op == Id::FactTexts          ? Kind::Str
                           : op == Id::FactBools        ? Kind::Bool
                           : op == Id::FactClassWeights ? Kind::Float
                                                        : Kind::Int;
      Type list = Type::list_of(Type::of(element));
      list.value = unique.type.value;
      return op_expr(op, std::move(list), span, {scope.cx.keep(std::move(base))});
    }
    default: return op_expr(found->op, Type::of(Kind::Float), span, {scope.cx.keep(std::move(base))});
  }
}

/// Reports a method with other arguments than `form` has.
bool takes(const CallSite& site, size_t count, const char* form) {
  if (site.given.size() == count) return true;
  site.scope.cx.report(diag::wrong_argument(site.name_span, "`" + site.name + "` is written `" + form + "`"));
  return false;
}

bool holds_ids(const ExprView& ids, Scope& scope) {
  if (ids.type.is_error()) return false;
  if (ids.type.is_tensor() && !is_floating(ids.type.element) && ids.type.element != Element::Bool) return true;
  scope.cx.report(diag::wrong_argument(ids.span, "`decode` takes ids, such as i64[?], not " + scope.cx.text(ids.type)));
  return false;
}

}  // namespace

Expr known_field(Expr base, const ast::Name& name, Span span, Scope& scope) {
  if (base.type.kind == Kind::Facts) return facts_of_field(std::move(base), name, span, scope);
  if (base.type.kind == Kind::FieldFacts) return fact(std::move(base), name, span, scope);
  if (name.text == kVocabularySize)
    return as_dim(op_expr(Id::VocabSize, Type::host_int(), span, {scope.cx.keep(std::move(base))}), name.text, scope);
  std::vector<std::string> known = {std::string(kVocabularySize)};
  for (const VocabularyMethod& method : kVocabularyMethods) known.emplace_back(method.name);
  report_unknown_fact(base, name, known, scope);
  return error_at(span);
}

namespace {

Expr tokenizer_call(Expr base, Id op, CallSite& site) {
  Context& cx = site.scope.cx;
  if (op == Id::EncodeText) {
    Expr text = check_given_as(site.given[0], Type::of(Kind::Str), site.scope, "what is encoded");
    if (text.type.is_error()) return error_at(site.span);
    Type ids = Type::tensor(Element::I64, {Dim{.size = cx.program.atoms.unknown(), .group = 0}});
    return op_expr(op, std::move(ids), site.span, {cx.keep(std::move(base)), cx.keep(std::move(text))});
  }
  Expr ids = check_given(site.given[0], site.scope);
  if (!holds_ids(ids, site.scope)) return error_at(site.span);
  return op_expr(op, Type::of(Kind::Str), site.span, {cx.keep(std::move(base)), cx.keep(std::move(ids))});
}

}  // namespace

std::optional<Expr> vocabulary_call(Expr base, CallSite& site) {
  Scope& scope = site.scope;
  const VocabularyMethod* method = find_member(kVocabularyMethods, site.name);
  if (method == nullptr) return std::nullopt;
  const bool is_tokenizer = base.type.kind == Kind::Tokenizer;
  const VocabularyMethod::Form& form = is_tokenizer ? method->of_tokens : method->of_words;
  if (!takes(site, 1, form.text)) return error_at(site.span);
  if (is_tokenizer && form.op != Id::WordId) return tokenizer_call(std::move(base), form.op, site);
  if (form.op == Id::EncodeWords) {
    Expr text = check_given_as(site.given[0], Type::list_of(Type::of(Kind::Str)), scope, "what is encoded");
    if (text.type.is_error()) return error_at(site.span);
    if (!base.type.uniform) {
      const auto owner = scope.owner != nullptr ? std::optional(scope.owner->index) : std::nullopt;
      if (!scope.cx.told.closed_words.emplace(owner.value_or(0), base.type.name).second) return error_at(site.span);
      scope.cx.report(diag::unknown_words(site.name_span, base.type.name)
                          .help("put \"<unk>\" among its `special` words, or leave such words out: `unknown = skip`"));
      return error_at(site.span);
    }
    Type ids = Type::tensor(Element::I64, {Dim{.size = scope.cx.program.atoms.unknown(), .group = 0}});
    return op_expr(Id::EncodeWords, std::move(ids), site.span,
                   {scope.cx.keep(std::move(base)), scope.cx.keep(std::move(text))});
  }
  if (form.op == Id::DecodeWords) {
    Expr ids = check_given(site.given[0], scope);
    if (!holds_ids(ids, scope)) return error_at(site.span);
    return op_expr(Id::DecodeWords, Type::list_of(Type::of(Kind::Str)), site.span,
                   {scope.cx.keep(std::move(base)), scope.cx.keep(std::move(ids))});
  }
  Expr word = check_given_as(site.given[0], Type::of(Kind::Str), scope, "the word");
  if (word.type.is_error()) return error_at(site.span);
  return op_expr(Id::WordId, Type::host_int(), site.span,
                 {scope.cx.keep(std::move(base)), scope.cx.keep(std::move(word))});
}

std::optional<Expr> decode_in_predict(const ast::Field& method, CallSite& site) {
  Scope& scope = site.scope;
  const auto* words = method.base->get<ast::Field>();
  const auto* data = words != nullptr ? words->base->get<ast::NameRef>() : nullptr;
  const VocabularyMethod* called = find_member(kVocabularyMethods, site.name);
  const bool is_meant = data != nullptr && data->name.text == "data" && scope.place == Place::Step &&
                        scope.info != nullptr && scope.info->name == kPredictRole && !scope.find_local("data") &&
                        called != nullptr && called->of_words.op == Id::DecodeWords;
  if (!is_meant) return std::nullopt;
  std::optional<Expr> between;
  const bool has_between = site.given.size() == 2 && site.given[1].name && site.given[1].name->text == "sep";
  if (has_between) between = check_given_as(site.given[1], Type::of(Kind::Str), scope, "`sep`");
  if (!has_between && !takes(site, 1, "data.words.decode(ids, sep = \" \")")) return error_at(site.span);
  Expr ids = check_given(site.given[0], scope);
  if (!holds_ids(ids, scope) || (between && between->type.is_error())) return error_at(site.span);
  if (ids.type.dims.empty() || ids.type.dims[0].group != 0) {
    scope.cx.report(
        diag::wrong_rank(ids.span, "`decode` takes ids with the batch first, not " + scope.cx.text(ids.type)));
    return error_at(site.span);
  }
  scope.info->decodes.emplace_back(words->name, between ? std::optional(between->span) : std::nullopt);
  Type texts = Type::of(Kind::Texts);
  texts.dims = {ids.type.dims[0]};
  if (!between) between = str_const(" ", site.span);
  Context& cx = scope.cx;
  const ExprId name = cx.keep(str_const(words->name.text, words->name.span));
  return op_expr(Id::DecodeRows, std::move(texts), site.span,
                 {name, cx.keep(std::move(ids)), cx.keep(std::move(*between))});
}

}  // namespace ltr::check
