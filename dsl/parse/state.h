#pragma once

#include <algorithm>
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/lex/token.h"
#include "dsl/parse/kind_set.h"

namespace ltr::parse {

using Iter = std::vector<lex::Token>::const_iterator;
using source::Span;

/// What a message says was expected: a kind of token, or one of these.
enum class Expected : uint8_t {
  Name = lex::kTokenKinds,
  Expression,
  Type,
  Dim,
  Parameter,
  Statement,
  Declaration,
  BlockMember,
  ModelMember,
  MetricMember,
  DataMember,
  CallbackMember,
  Setting,
  Section,
  LoadRule,
  Reduction,
  LogReduction,
  LogWhen,
  Separator,
  Count,
};
using ExpectedSet = std::bitset<static_cast<size_t>(Expected::Count)>;

/// `)`, `,` or an expression.
std::string describe(const ExpectedSet& expected);

/// How much is given up when something cannot be parsed.
enum class Level : uint8_t { Value, Condition, Parameter, Statement, Entry, Declaration };

/// Brackets, statements and operators within each other; also the depth of calls of the parser.
inline constexpr int kMaxNesting = 256;
/// Height of an expression: chains such as `a + b + …` and `x |> f |> …` are trees as high as they are long.
inline constexpr int kMaxHeight = 1'000;

/// What all grammar rules share during one parse. Reached through the context of the X3 parsers.
class State {
 public:
  State(const lex::TokenBuffer& buffer, std::string_view text, diagnostics::Sink& sink);

  Iter begin() const { return tokens_.begin(); }
  uint32_t index(Iter at) const { return static_cast<uint32_t>(at - tokens_.begin()); }
  std::string_view text(const lex::Token& token) const {
    return text_.substr(token.span.begin, token.span.end - token.span.begin);
  }
  std::string_view text() const { return text_; }
  const lex::TokenBuffer& buffer() const { return buffer_; }
  ast::Name name(const lex::Token& token) const { return {std::string(text(token)), token.span}; }
  /// From the first byte of `first` to the last of the token before `last`.
  Span span(Iter first, Iter last) const;

  /// Remembers what was refused at `at`; only the rightmost place counts.
  void refuse(Iter at, TokenKind wanted) { refuse(at, static_cast<Expected>(wanted)); }
  void refuse(Iter at, Expected wanted) {
    if (at < furthest_) return;
    if (at > furthest_) expected_.reset();
    furthest_ = at;
    expected_.set(static_cast<size_t>(wanted));
  }

  void report(diagnostics::Diagnostic diagnostic);
  void report_at(Iter at, diagnostics::Diagnostic diagnostic);
  /// Something was said about this place already.
  void mark_reported(Iter at) {
    ++mistakes_;
    reported_at_.push_back(index(at));
  }
  /// How many mistakes were found so far, those of the lexer that the parser ran into included.
  int mistakes() const { return mistakes_; }
  /// Whether one of them stands behind the byte `begin`.
  bool is_damaged_behind(uint32_t begin) const {
    return std::ranges::any_of(reported_at_, [&](uint32_t token) { return tokens_[token].span.begin >= begin; });
  }
  void report_unclosed(const lex::BracketPair& pair, Iter found);
  /// Brackets that were never closed and that no message has mentioned.
  void report_remaining_brackets();

  // The place that furthest was reached, and what would have been taken there.
  Iter furthest_;
  ExpectedSet expected_;
  int depth_ = 0;                 ///< of rules in progress
  int height_ = 0;                ///< of the highest operand parsed so far in the expression in progress
  Iter limit_;                    ///< end of the innermost braces in progress
  bool is_nesting_told_ = false;  ///< of what is being read, from half of that depth on
  bool takes_comma_ = false;      ///< entries of the innermost braces may be separated by commas
  bool wants_parameter_type_ = false;

 private:
  const lex::TokenBuffer& buffer_;
  const std::vector<lex::Token>& tokens_;
  std::string_view text_;
  diagnostics::Sink& sink_;
  int mistakes_ = 0;
  std::vector<uint32_t> reported_at_;  ///< indices of tokens
  std::vector<uint32_t> reported_openers_;
};

/// The names that a broken statement would have assigned, `a`, `b` and `c` of `a, (b, c) = …`.
std::vector<ast::Name> find_assigned(const State& state, Iter first, Iter last);
/// The name that a broken declaration or member would have declared; without text if it has none.
ast::Name find_declared(const State& state, Iter first, Iter last);
/// That of a broken member, and those that a `def __init__` gives to `self`.
std::vector<ast::Name> find_members(const State& state, Iter first, Iter last);
/// A declaration that could not be read; of an import all that its line names, `*` too.
ast::Decl find_lost(const State& state, Iter first, Iter last);
/// `dat` of `lib/dat.ltr`: what a file is imported as, mostly.
std::string file_stem(std::string_view path);

/// The name of a broken parameter.
ast::Name find_param(const State& state, Iter first, Iter last);

/// How a message calls the token at `at`: "`x`", "the number `5`", "end of line".
std::string describe_found(const State& state, Iter at);
/// Whether the grammar would have gone on with such a token where it stopped.
inline bool expects(const State& state, Expected what) { return state.expected_.test(static_cast<size_t>(what)); }
inline bool expects(const State& state, TokenKind kind) { return state.expected_.test(static_cast<size_t>(kind)); }
/// Adds what the message of a token at `at` does not say alone: how it is written here.
void add_help(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic);
/// The message for a place where the grammar does not go on. `start` is where the abandoned construct begins.
void report_failure(State& state, Level level, Iter start, Iter where);
/// The message for nesting beyond `limit`, once per construct.
void report_nesting(State& state, Iter where, int limit);
/// Where to go on after `start … at` was given up: at the end of that much of the program, never past the
/// braces around it, and past `start` for statements and more.
Iter find_resumption(const State& state, Level level, Iter start, Iter at);

/// Whether another language begins a statement or declaration so: `def`, `class`.
bool is_first_word_elsewhere(std::string_view word);
/// `from a.b import c, d as e`.
struct PythonImport {
  std::string path;              ///< `a.b`
  std::string imported;          ///< `c, d`
  std::vector<ast::Name> names;  ///< by which they are known: c, e
  bool is_plain = true;          ///< no name is changed
  Span span;
};
std::optional<PythonImport> read_python_import(const State& state, Iter start);
/// A form of Python (or a relative) that explains why parsing failed at `at`.
std::optional<diagnostics::Diagnostic> find_python_form(const State& state, Iter start, Iter at);
/// The same of the parameter that begins at `start`: a class to inherit from.
std::optional<diagnostics::Diagnostic> find_python_param(const State& state, Iter start);
/// Whether a class to inherit from stands where a parameter is wanted: `nn.Module` of `block Net(nn.Module)`.
bool is_base_class(const State& state, Iter param);
/// The `(` of the parameters among which `param` stands.
Iter opener_of_params(const State& state, Iter param);
/// Whether such parameters are those of a block or the like, and not of a function.
bool is_of_object(const State& state, Iter opener);
/// `pass`, `break`, `continue` as a statement.
std::optional<diagnostics::Diagnostic> find_python_word(const ast::Name& statement);
/// The `:` in front of a body.
diagnostics::Diagnostic python_colon(Span colon);
/// Behind the body of a `:` at the end of a line: the end of the last line below it that is indented more. `colon` itself where there is
/// no such body.
Iter find_indented_end(const State& state, Iter colon);
/// Behind the `}` with which such a body, which ends at `end`, is closed all the same, if it is.
Iter skip_own_brace(const State& state, Iter colon, Iter end);
/// `if c:` and its like: a header whose body is indented.
bool is_python_header(const State& state, Iter start, Iter at);

}  // namespace ltr::parse
