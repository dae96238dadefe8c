// `facts` and `vocab`: what is known of a stream.

#include <algorithm>

#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

namespace {

bool is_value_of_let(const FnInfo& op, CallSite& site) {
  if (!site.scope.let_name.empty()) return true;
  const char* name = op.id == library::Id::Tokenizer ? "tok" : "seen";
  site.scope.cx.report(diag::wrong_place(site.span, "`" + op.name + "` is the value of a `let` of data")
                           .help("`let {} = {}` gives it a name", name, site.scope.cx.source_text(site.span)));
  return false;
}

/// Whether what is known of `stream` can be asked here: as the value of a `let`, of records.
bool check_known(const FnInfo& op, const ExprView& stream, CallSite& site) {
  Context& cx = site.scope.cx;
  if (!is_value_of_let(op, site)) return false;
  if (!stream.type.uniform) return true;
  cx.report(diag::wrong_place(site.name_span, "`" + op.name + "` looks at records, and stands in front of `collate`"));
  return false;
}

Expr name_of_let(CallSite& site) { return str_const(site.scope.let_name, site.span); }

/// `of = text` and `of = "text"` name a field of the stream, unless there is a function `text`.
std::optional<Expr> field_named(const Given& of, const ExprView& stream, Scope& scope) {
  std::optional<std::string> name;
  Span span = of.span;
  if (const auto* ref = of.value != nullptr ? of.value->get<ast::NameRef>() : nullptr) {
    const bool is_function = (scope.owner != nullptr && scope.owner->fns.contains(ref->name.text)) ||
                             scope.cx.graph.find(scope.module, ref->name.text) != nullptr;
    if (!is_function) name = ref->name.text;
  } else if (of.value != nullptr && of.value->get<ast::StrLiteral>() != nullptr) {
    const Expr text = check_given(of, scope);
    if (const auto* constant = text.get<node::StrConst>()) name = constant->text;
  }
  if (!name) return std::nullopt;
  std::vector<std::string> texts;
  for (const TypeField& field : stream.type.fields) {
    if (field.type.kind == Kind::Str) texts.push_back(field.name);
  }
  if (std::find(texts.begin(), texts.end(), *name) == texts.end()) {
    diagnostics::Diagnostic diagnostic = diag::unknown_field(span, "the stream", *name);
    if (!did_you_mean(diagnostic, *name, span, texts) && !texts.empty()) note_known(diagnostic, texts);
    diagnostic.note("`of` names a field of type str, or is a function to list[str]");
    scope.cx.report(std::move(diagnostic));
    return error_at(span);
  }
  return str_const(*name, span);
}

/// Whether a list of texts that is written holds `word`.
bool holds_word(const node::List& list, const std::string& word, const Context& cx) {
  return std::any_of(list.elements.begin(), list.elements.end(), [&](ExprId id) {
    const auto* one = cx.at(id).get<node::StrConst>();
    return one != nullptr && one->text == word;
  });
}

}  // namespace

Expr rule_facts(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !check_known(op, (*args)[0], site)) return error_at(site.span);
  Type type = Type::of(Kind::Facts);
  type.fields = (*args)[0].type.fields;
  type.name = site.scope.let_name;
  args->push_back(name_of_let(site));
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_vocab(const FnInfo& op, CallSite& site) {
  enum : size_t { kStream, kOf, kMax, kMinCount, kSpecial, kUnknown };
  Context& cx = site.scope.cx;
  const Expr stream = *site.given[0].checked;
  if (site.given.size() == 1) return field_of(stream, {op.name, site.name_span}, site.span, site.scope);
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound || !check_known(op, stream, site)) return error_at(site.span);
  const Given& of = *(*bound)[kOf];
  std::optional<Expr> words = field_named(of, stream, site.scope);
  if (!words) {
    words = mapped_value(stream, of, Type::list_of(Type::of(Kind::Str)), site);
  }
  if (words->type.is_error()) return error_at(site.span);
  std::vector<Expr> args = {stream, std::move(*words)};
  for (size_t i = kMax; i < op.params.size(); ++i) {
    const ParamInfo& param = op.params[i];
    const std::string label = "`" + param.name + "`";
    std::vector<Local> locals;
    Scope library{.cx = cx, .module = op.module, .place = Place::Const, .locals = locals};
    args.push_back((*bound)[i] != nullptr ? check_given_as(*(*bound)[i], param.type, site.scope, label.c_str())
                                          : check_as(*param.initial, param.type, library, "the default"));
    if (args.back().type.is_error()) return error_at(site.span);
  }
  const auto* least = args[kMinCount].get<node::IntConst>();
  if (least != nullptr && least->value < 1) {
    cx.report(diag::out_of_range(args[kMinCount].span, "a word is counted at least once, so `min_count` is 1 or more"));
    return error_at(site.span);
  }
  Type type = Type::of(Kind::Vocabulary);
  type.name = site.scope.let_name;
  const auto* special = args[kSpecial].get<node::List>();
  type.uniform = special == nullptr || holds_word(*special, "<unk>", cx) || text_of(args[kUnknown]) == "skip";
  args.push_back(name_of_let(site));
  return typed_call(op, std::move(type), site, std::move(args));
}

Expr rule_tokenizer(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !is_value_of_let(op, site)) return error_at(site.span);
  Type type = Type::of(Kind::Tokenizer);
  type.name = site.scope.let_name;
  args->push_back(name_of_let(site));
  return typed_call(op, std::move(type), site, std::move(*args));
}

}  // namespace ltr::check
