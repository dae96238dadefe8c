#include <utility>

#include "dsl/parse/grammar/rules.h"

// test = "test" STRING [ "fails" CODE ] body, and the choice between all declarations.
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

/// `x = 1` or `print x` at the top of a file.
struct LooseStatement : x3::parser<LooseStatement> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    constexpr KindSet kAfterName = {K::Assign, K::Colon, K::OpenParen, K::Dot, K::PlusAssign};
    constexpr KindSet kStatements = {K::Print, K::Assert, K::Log, K::Return, K::For, K::While, K::If, K::Minimize};
    const TokenKind next = first->kind == K::End ? K::End : std::next(first)->kind;
    constexpr KindSet kDeclares = {K::Import, K::Hparam, K::Const};  // What lacks its name is no statement.
    const bool is_named = kNames.has(first->kind) && kAfterName.has(next) && !kDeclares.has(first->kind);
    if (!is_named && !kStatements.has(first->kind)) return false;
    State& state = state_of(context);
    diagnostics::Diagnostic diagnostic = diag::loose_statement(first->span);
    if (next == K::Assign || next == K::Colon) {
      diagnostic.help(
          "a value for the whole file is `const {} = …`, one that can be set at start `hparam {}: float = …`",
          state.text(*first), state.text(*first));
    } else {
      diagnostic.help("statements stand in a `fn`, a `step`, a hook or a `test`");
    }
    state.report_at(first, std::move(diagnostic));
    fail_reported(first);
  }
};

const auto test_def =
    x3::omit[keyword(K::Test) > string("the title of a test")[set_string<&ast::Test::title, &ast::Test::title_span>] >
             -(skip_quietly(K::Fails) > name[set<&ast::Test::fails>]) > body[set<&ast::Test::body>]];

const auto declaration_def =
    x3::omit[labelled(Expected::Declaration,
                      import[take_node] | hparam[take_node] | type_name[take_node] | constant[take_node] |
                          fn[take_node] | extern_fns[take_node] | metric[take_node] | data[take_node] |
                          block[take_node] | model[take_node] | callback[take_node] | topology[take_node] |
                          experiment[take_node] | test[take_node] | LooseStatement() | misplaced("the top of a file"))];

}  // namespace

BOOST_SPIRIT_DEFINE(test, declaration)
LTR_INSTANTIATE(test)
LTR_INSTANTIATE(declaration)

}  // namespace ltr::parse::grammar
