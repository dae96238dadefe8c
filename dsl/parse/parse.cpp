#include "dsl/parse/parse.h"

#include <utility>

#include "dsl/lex/lex.h"
#include "dsl/parse/grammar/rules.h"

namespace ltr::parse {

namespace {

using K = TokenKind;

/// Reads `ltr 1`. False if the rest of the file cannot be understood.
bool parse_edition(State& state, Iter& at, ast::Module& module) {
  if (at->kind != K::Ltr || (std::next(at)->kind != K::Int && std::next(at)->kind != K::Float)) {
    const bool is_word = at->kind == K::Ltr;
    const Span begin = {at->span.source, at->span.begin, at->span.begin};
    diagnostics::Diagnostic diagnostic = diag::missing_edition(at->span);
    diagnostic.help("the first line is `ltr {}`", kEdition);
    diagnostic.fix(is_word ? at->span : begin, "ltr " + std::to_string(kEdition) + (is_word ? "" : "\n"));
    state.report_at(at, std::move(diagnostic));
    if (is_word) ++at;
    if (is_word && at->kind == K::Str) ++at;
    return true;
  }
  const Iter number = std::next(at);
  module.edition_span = source::join(at->span, number->span);
  const int64_t edition = number->kind == K::Int ? state.buffer().ints[number->value] : 0;
  module.edition = edition;
  if (edition != kEdition) {
    state.report_at(
        at, diag::unknown_edition(number->span, state.text(*number)).help("this compiler knows edition {}", kEdition));
    return false;
  }
  at = std::next(number);
  return true;
}

void parse_declarations(State& state, Iter first, Iter last, ast::Module& module) {
  const Context context = x3::make_context<StateTag>(state);
  const auto declaration = recovering(Level::Declaration, x3::eps > grammar::declaration > end_of_entry);
  for (;;) {
    while (first->kind == K::Newline || first->kind == K::Semicolon) ++first;
    if (first->kind == K::End) return;
    ast::Decl decl;
    const int before = state.mistakes();
    declaration.parse(first, last, context, x3::unused, decl);
    decl.is_damaged = state.mistakes() > before;
    module.decls.push_back(std::move(decl));
  }
}

}  // namespace

ast::Module parse(source::SourceId source, const source::SourceManager& sources, diagnostics::Sink& sink) {
  return parse(source, sources.text(source), sink);
}

ast::Module parse(source::SourceId source, std::string_view text, diagnostics::Sink& sink) {
  const lex::TokenBuffer buffer = lex::lex(source, text, sink);
  State state(buffer, text, sink);
  ast::Module module;
  module.source = source;
  Iter at = state.begin();
  if (parse_edition(state, at, module)) {
    const bool is_ended = at->kind == K::Newline || at->kind == K::Semicolon || at->kind == K::End;
    if (!module.edition_span.is_empty() && !is_ended) {
      state.report_at(at, diag::unexpected_token(at->span, lex::describe(K::Newline), describe_found(state, at)));
    }
    parse_declarations(state, at, buffer.tokens.end(), module);
    state.report_remaining_brackets();
  }
  return module;
}

}  // namespace ltr::parse
