#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/lost.h"
#include "dsl/parse/state.h"

// What the message of a token that does not go on is helped by.
namespace ltr::parse {

namespace {

using K = TokenKind;

/// Of the token `count` before this one; what begins the program follows the end of a line.
TokenKind kind_before(const State& state, Iter at, int count = 1) {
  return at - state.begin() < count ? K::Newline : std::prev(at, count)->kind;
}

/// The words of the language among those that the message names.
std::vector<std::string> expected_words(const State& state) {
  std::vector<std::string> words;
  const std::string text = describe(state.expected_);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (lex::find_word(word) != K::Name && word != "or") words.push_back(word);
  }
  return words;
}

/// The word of a statement that `word` was probably meant to be: `minimize` of `minimise`.
std::optional<std::string> near_statement(std::string_view word) {
  std::vector<std::string> words;
  for (size_t kind = 0; kind < lex::kTokenKinds; ++kind) {
    if (kStatementWords.has(static_cast<K>(kind))) words.emplace_back(lex::spelling(static_cast<K>(kind)));
  }
  return diagnostics::suggest(word, words);
}

/// `name` in front of a `:` that says of an argument or a setting what `=` says here.
void help_colon(const State& state, Iter colon, diagnostics::Diagnostic& diagnostic) {
  constexpr KindSet kSections = {K::Callbacks, K::Loggers, K::Trainer};
  const std::string_view name = state.text(*std::prev(colon));
  if (kSections.has(std::prev(colon)->kind)) {
    diagnostic.help("it is a section, in braces: `{} { … }`", name);
    return;
  }
  const bool is_spaced = std::prev(colon)->span.end < colon->span.begin;
  diagnostic.help("a value is given with `=`: `{} = …`", name).fix(colon->span, is_spaced ? "=" : " =");
}

/// Whether a text could be a name.
bool is_plain_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) && lex::find_word(text) == K::Name &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// `"loss"` where a `log` names what it records: `log loss`, or `log loss = …`.
void help_logged_text(const State& state, Iter text, diagnostics::Diagnostic& diagnostic) {
  const std::string& name = state.buffer().strings[text->value];
  if (!is_plain_name(name)) return;
  const Iter next = std::next(text);
  const bool is_valued = next->kind == K::Assign || next->kind == K::Comma;
  Span span = text->span;
  if (next->kind == K::Comma) span.end = next->span.end;
  diagnostic.help("what is recorded has a name, not a text: `log {}{}`", name, is_valued ? " = …" : "")
      .fix(span, next->kind == K::Comma ? name + " =" : name);
}

/// What Lightning says of a value behind its name: `prog_bar`. False if it is none of it.
bool help_log_flag(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  const std::string_view word = state.text(*at);
  const std::string_view ours = word == "prog_bar"   ? "bar"
                                : word == "on_step"  ? "on step"
                                : word == "on_epoch" ? "on epoch"
                                                     : "";
  if (!ours.empty()) diagnostic.help("here it is `{}`", ours).fix(at->span, std::string(ours));
  return !ours.empty();
}

/// `*.bias` without its quotes.
void help_pattern(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  Iter last = at;
  while (!last->starts_line && last->kind != K::OpenBrace && last->kind != K::Assign && last->kind != K::Newline &&
         last->kind != K::End)
    ++last;
  if (last == at) return;
  const Span span = state.span(at, last);
  const std::string pattern = "\"" + std::string(state.text().substr(span.begin, span.end - span.begin)) + "\"";
  diagnostic.help("a pattern of names is a string: `{}`", pattern).fix(span, pattern);
}

/// The word that was probably meant, of `words`.
bool help_near(const State& state, Iter at, const std::vector<std::string>& words,
               diagnostics::Diagnostic& diagnostic) {
  const auto near = diagnostics::suggest(state.text(*at), words);
  if (near) add_near(diagnostic, state.text(*at), at->span, *near);
  return near.has_value();
}

/// The same of those that may stand here.
bool help_near_word(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  return help_near(state, at, expected_words(state), diagnostic);
}

/// What mostly does not stand here, and so is not named as missing. False if it is none.
bool help_rare_word(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (at->kind != K::Name) return false;
  if (start->kind == K::Minimize) return help_near(state, at, {"with"}, diagnostic);
  const bool is_behind_body = start->kind == K::If && kind_before(state, at) == K::CloseBrace;
  return is_behind_body && help_near(state, at, {"else"}, diagnostic);
}

/// What the state of a metric still needs.
void help_state(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (kNames.has(at->kind) && help_near_word(state, at, diagnostic)) return;
  if (expects(state, Expected::Reduction)) {
    diagnostic.help("`reduce merge FUNCTION` makes one of the states of two ranks by a function of the metric");
  } else if (expects(state, K::Reduce)) {
    diagnostic.help(
        "how the states of two parts of the data become one: `reduce sum`, `mean`, `min`, `max`, `cat` or `merge "
        "FUNCTION`");
  } else if (kind_before(state, at) == K::Merge) {
    diagnostic.help("`reduce merge FUNCTION`: of the metric or of the file, it makes one record of states of two");
  }
}

/// `(r) => …`: the brackets go.
bool help_bracketed_lambda(Iter at, const State& state, diagnostics::Diagnostic& diagnostic) {
  if (at->kind != K::FatArrow || at - state.begin() < 3 || std::prev(at)->kind != K::CloseParen) return false;
  const Iter name = std::prev(at, 2);
  if (kNames.has(name->kind) && std::prev(name)->kind == K::OpenParen) {
    diagnostic.help("its one parameter stands without brackets: `{} => …`", state.text(*name))
        .fix(state.span(std::prev(name), at), std::string(state.text(*name)));
  } else {
    diagnostic.help("it has one parameter, without brackets: `x => …`; a `fn` has several");
  }
  return true;
}

/// `10%` where a number is wanted: `%` is the remainder.
bool help_percentage(Iter at, const State& state, diagnostics::Diagnostic& diagnostic) {
  if (kind_before(state, at) != K::Percent || !expects(state, Expected::Expression)) return false;
  const TokenKind number = kind_before(state, at, 2);
  if (number != K::Int && number != K::Float) return false;
  const Iter first = std::prev(at, 2);
  char digits[32];
  const double part = std::strtod(std::string(state.text(*first)).c_str(), nullptr) / 100;
  const std::string fraction(digits, std::to_chars(std::begin(digits), std::end(digits), part).ptr);
  diagnostic.help("a part is a number from 0 to 1: `{}`", fraction).fix(state.span(first, at), fraction);
  return true;
}

/// Whether the brackets that open at `at` are a function's: `name[B](x: float[B]) -> …`.
bool has_result(const State& state, Iter at) {
  const auto behind = find_behind_brackets(state, at);
  return behind && (*behind)->kind == K::Arrow;
}

/// What begins a member of a callback and is none.
void help_callback_member(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  const std::string_view word = state.text(*at);
  const auto hook = diagnostics::renamed(word);
  const bool is_hook = word.starts_with("on_");
  if (std::next(at)->kind == K::Colon || std::next(at)->kind == K::Assign)
    diagnostic.help("what a callback keeps is a `state`: `state {}: float = …`", word);
  else if (is_hook && hook)
    diagnostic.help("{}", "a hook: `on " + std::string(*hook) + " { … }`").fix(at->span, "on " + std::string(*hook));
  else
    help_near_word(state, at, diagnostic);
}

/// What follows an import, as it is written here.
void help_import(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  const Iter first = std::next(start);
  const auto text = [&](Iter begin, Iter end) {
    const Span span = state.span(begin, end);
    return std::string(state.text().substr(span.begin, span.end - span.begin));
  };
  if (first->kind == K::Str && at == std::next(first)) {
    const std::string& file = state.buffer().strings[first->value];
    const std::string alias = file_stem(file);
    diagnostic.help("the name of the file here: `import \"{}\" as {}`", file, alias);
    if (is_plain_name(alias)) diagnostic.fix({at->span.source, first->span.end, first->span.end}, " as " + alias);
  } else if (at->kind == K::Slash) {
    Iter end = at;
    while (end->kind != K::As && end->kind != K::Newline && end->kind != K::End) ++end;
    const std::string file = "\"" + text(first, end) + "\"";
    const std::string alias = end->kind == K::As ? "" : " as " + file_stem(text(first, end));
    diagnostic
        .help("a path is a string: `import {}{}`", file,
              end->kind == K::As ? " as " + std::string(state.text(*std::next(end))) : alias)
        .fix(state.span(first, end), file + alias);
  } else if (at->kind == K::As && expects(state, K::CloseBrace)) {
    const Iter dot = std::find_if(first, at, [](const lex::Token& one) { return one.kind == K::OpenBrace; }) - 1;
    diagnostic.help("a name is imported as it is; that of a whole file is chosen: `import {} as {}`, and `{}.{}`",
                    text(first, dot), state.text(*std::prev(dot)), state.text(*std::prev(dot)),
                    state.text(*std::prev(at)));
  } else {
    diagnostic.help("`import \"file.ltr\" as name`, or `import std.vision.{resize}`");
  }
}

/// A type, or a value, that is not there. False if it is none.
bool help_missing_type(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (level == Level::Parameter && expects(state, K::Colon)) {
    diagnostic.help("a parameter has a type: `{}: {}`", state.text(*start),
                    is_of_object(state, opener_of_params(state, start)) ? "int" : "float[B, 3]");
  } else if (start->kind == K::Hparam && expects(state, K::Colon)) {
    diagnostic.help("a setting has a type: `hparam lr: float = 1e-3`");
  } else if ((start->kind == K::Weight || start->kind == K::Buffer || start->kind == K::State) &&
             expects(state, K::Colon)) {
    const std::string name = std::next(start) != at ? std::string(state.text(*std::next(start))) : "NAME";
    diagnostic.help("what is kept has a type: `{} {}: {} = …`", state.text(*start), name,
                    start->kind == K::Weight ? "float[SIZE]" : "float");
  } else if (start->kind == K::State && at != start) {
    help_state(state, at, diagnostic);
  } else if (at->kind == K::Colon && at != start && lex::is_word(std::prev(at)->kind) &&
             (expects(state, K::Assign) || expects(state, K::Comma))) {
    help_colon(state, at, diagnostic);
  } else {
    return false;
  }
  return true;
}

/// What begins with a word that wants something else behind it. False if it is none.
bool help_first_word(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  // `log imgae sample = …`
  if (start->kind == K::Log && at == start + 2 && kNames.has(at->kind) &&
      help_near(state, std::prev(at), {"image", "histogram", "text"}, diagnostic))
    return true;
  if (start->kind == K::Log && at->kind == K::Comma) {
    diagnostic.help("each has a `log` of its own");
  } else if (start->kind == K::Log && at->kind == K::OpenParen && lex::is_word(kind_before(state, at))) {
    const std::string_view name = state.text(*std::prev(at));
    diagnostic.help("what is recorded has a name: `log {} = {}(…)`", name, name);
  } else if (start->kind == K::Log && at->kind == K::Str) {
    help_logged_text(state, at, diagnostic);
  } else if (start->kind == K::Test && at == std::next(start) && kNames.has(at->kind)) {
    const std::string title = "\"" + std::string(state.text(*at)) + "\"";
    diagnostic.help("a test is named by a text: `test {}`", title).fix(at->span, title);
  } else if ((start->kind == K::Group || start->kind == K::Init) && at == std::next(start)) {
    help_pattern(state, at, diagnostic);
  } else {
    return false;
  }
  return true;
}

/// Whether the path whose first dot is `at`, `net.encoder.weights`, has settings in braces behind it.
bool begins_group(const State& state, Iter at) {
  while (at->kind == K::Dot && lex::is_word(std::next(at)->kind)) at += 2;
  return at->kind == K::OpenBrace && state.text(*std::prev(at)) == "weights";
}

/// Whether a bracket is that of `backward(loss, retain_graph = true)`.
bool is_of_backward(Iter opener) { return opener->kind == K::OpenParen && std::prev(opener)->kind == K::Backward; }

/// A mark that is missing, or one too many. False if it is none.
bool help_mark(const State& state, Level level, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (expects(state, K::Comma) && expects(state, K::CloseParen) && kNames.has(at->kind)) {
    const Span behind = {at->span.source, std::prev(at)->span.end, std::prev(at)->span.end};
    diagnostic.help("a `,` between the two").fix(behind, ",");
  } else if (at->kind == K::Assign && expects(state, K::CloseParen) && is_of_backward(opener_of_params(state, at))) {
    diagnostic.help("it is a statement, and what it goes through is kept as long as it is needed: `backward {}`",
                    state.text(*std::next(opener_of_params(state, at))));
  } else if (at->kind == K::Semicolon && level == Level::Parameter) {
    diagnostic.help("parameters have a `,` between them").fix(at->span, ",");
  } else if ((at->kind == K::Star || at->kind == K::Power) && expects(state, Expected::Expression)) {
    diagnostic.help("nothing is unpacked: each argument by itself, `f(x, y)`");
  } else if (at->kind == K::Dot && expects(state, Expected::Expression) && std::next(at)->kind == K::Int) {
    diagnostic.help("a number has a digit in front of its point: `0.{}`", state.text(*std::next(at)))
        .fix({at->span.source, at->span.begin, at->span.begin}, "0");
  } else if (at->kind == K::Dot && expects(state, K::Assign) && state.text(*std::prev(at)) == "precision") {
    diagnostic.help("its parts stand in braces: `precision { {} = … }`", state.text(*std::next(at)));
  } else if (at->kind == K::Dot && expects(state, K::Assign) && state.text(*std::prev(at)) == "mesh") {
    diagnostic.help("its axes stand in one tuple: `mesh = ({} = …)`", state.text(*std::next(at)));
  } else if (at->kind == K::Dot && expects(state, K::Assign) && begins_group(state, at)) {
    diagnostic.help("weights with settings of their own are a group: `group {}.… { … }`", state.text(*std::prev(at)))
        .fix({at->span.source, std::prev(at)->span.begin, std::prev(at)->span.begin}, "group ");
  } else if (kind_before(state, at) == K::Return && kind_before(state, at, 2) == K::Assign) {
    diagnostic.help("behind `=` stands the value itself")
        .fix({at->span.source, std::prev(at)->span.begin, at->span.begin}, "");
  } else if (at->kind == K::Colon && std::next(at)->kind == K::Int && kind_before(state, at) == K::Name &&
             state.text(*std::prev(at)) == "cuda") {
    diagnostic.help("how many are taken stands in brackets, `cuda[1]`; which ones, CUDA_VISIBLE_DEVICES says");
  } else if (at->kind == K::OpenBracket && expects(state, Expected::DataMember)) {
    diagnostic.help("a batch begins with its word: `batch[B] { … }`")
        .fix({at->span.source, at->span.begin, at->span.begin}, "batch");
  } else if (at->kind == K::Int && kind_before(state, at) == K::Dot) {
    const Span dot = source::join(std::prev(at)->span, at->span);
    const std::string index = "[" + std::string(state.text(*at)) + "]";
    diagnostic.help("an element is taken by its index: `…{}`", index).fix(dot, index);
  } else {
    return false;
  }
  return true;
}

/// What is declared beside the steps, within one. False if it is none.
bool help_of_model(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (level != Level::Statement || at != std::next(start) || !kNames.has(at->kind)) return false;
  if (start->kind == K::Optimizer)
    diagnostic.help("an optimizer is a member of the model, beside its steps");
  else if (start->kind == K::Fn)
    diagnostic.help("functions stand beside the steps; a small one is a value, `{} = x => …`", state.text(*at));
  else
    return false;
  return true;
}

/// `loss = f(x) bar` without the `log` in front of it.
bool help_unrecorded(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  const bool is_assigned =
      level == Level::Statement && kNames.has(start->kind) && std::next(start)->kind == K::Assign && at > start + 2;
  if (!is_assigned || at->starts_line || state.text(*at) != "bar") return false;
  diagnostic.help("`log {} = …` records it", state.text(*start))
      .fix({start->span.source, start->span.begin, start->span.begin}, "log ");
  return true;
}

/// Whether an `if` or a `while` stands in front of `at` without what follows its condition.
bool is_in_condition(Iter start, Iter at) {
  while (at != start) {
    --at;
    if (at->kind == K::If || at->kind == K::While) return true;
    if (at->kind == K::Then || at->kind == K::OpenBrace || at->kind == K::Newline) return false;
  }
  return at->kind == K::If || at->kind == K::While;
}

/// `for i in 0 .. n: h = …`, `if c: h = …`: a body in the same line, without braces.
bool help_of_body(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  constexpr KindSet kHeads = {K::For, K::If, K::While};
  const auto ends = [](const auto& token) { return token.kind == K::Newline || token.kind == K::OpenBrace; };
  // `for i in 0:n { … }` has its braces.
  const bool has_body = kHeads.has(start->kind) && at->kind == K::Colon && std::next(at)->kind != K::Newline &&
                        std::find_if(at, start + (state.limit_ - start), ends)->kind == K::Newline;
  if (!has_body) return false;
  const Span head = state.span(start, at);
  diagnostic.help("a body stands in braces: `{} { … }`", state.text().substr(head.begin, head.end - head.begin));
  return true;
}

/// What one statement does not do. False if it is none.
bool help_in_statement(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (level == Level::Statement && start->kind == K::Const && at == std::next(start)) {
    const Span gone = {start->span.source, start->span.begin, at->span.begin};
    diagnostic.help("a local needs no `const`: `{} = …`", state.text(*at)).fix(gone, "");
  } else if ((start->kind == K::Log && help_log_flag(state, at, diagnostic)) ||
             help_of_body(state, start, at, diagnostic) || help_rare_word(state, start, at, diagnostic)) {
    return true;
  } else if (help_of_model(state, level, start, at, diagnostic) ||
             help_unrecorded(state, level, start, at, diagnostic)) {
    return true;
  } else if (at->kind == K::Assign && (expects(state, K::Then) || expects(state, K::OpenBrace)) &&
             is_in_condition(start, at)) {
    diagnostic.help("`==` compares").fix(at->span, "==");
  } else if (start->kind == K::Return && at->kind == K::Comma) {
    diagnostic.help("several values are a tuple, in brackets: `return (a, b)`, or a record: `return (a = …, b = …)`");
  } else if (start->kind == K::Yield && at->kind == K::Comma) {
    diagnostic.help("several values are a tuple, in brackets: `yield (a, b)`");
  } else if (level == Level::Statement && at->kind == K::Comma && !find_unpacked(state, start, state.limit_).empty()) {
    diagnostic.help("one level at a time: `a, rest = …`, then `b, c = rest`");
  } else if (start->kind == K::For && (at->kind == K::Ellipsis || at->kind == K::Colon) &&
             std::next(at)->kind != K::Newline) {
    if (kind_before(state, at) == K::CloseParen)
      diagnostic.help("a body stands in braces: `for {} in 0 .. n { … }`", state.text(*std::next(start)));
    else
      diagnostic.help("a range is written `0 .. n`").fix(at->span, "..");
  } else if (start->kind == K::NoGrad && at->kind == K::OpenBrace && at == start + 3) {
    diagnostic.help("its body follows: `no_grad { … }`").fix(state.span(std::next(start), at), "");
  } else if (start->kind == K::Print && at->kind == K::Assign && at == start + 2) {
    diagnostic.help("a value is given in a line of its own: `{} = …`, then `print {}`", state.text(*std::prev(at)),
                    state.text(*std::prev(at)));
  } else if (level == Level::Statement && at->kind == K::Assign && kNames.has(kind_before(state, at)) &&
             !find_unpacked(state, start, state.limit_).empty()) {
    diagnostic.help("one at a time: `{} = …`, then `{} = {}`", state.text(*std::prev(at)), state.text(*start),
                    state.text(*std::prev(at)));
  } else {
    return false;
  }
  return true;
}

/// Braces and brackets of declarations and sections. False if it is none.
/// Whether the settings of an optimizer begin `at` the brace behind `opt = SGD(…)`.
bool is_optimizer(const State& state, Iter start, Iter at) {
  const Iter first = std::next(at)->kind == K::Newline ? at + 2 : std::next(at);
  const bool is_setting = kNames.has(first->kind) && std::next(first)->kind == K::Assign;
  return expects(state, Expected::Separator) && kNames.has(start->kind) && std::next(start)->kind == K::Assign &&
         (first->kind == K::Group || is_setting);
}

bool help_braces(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  constexpr KindSet kSections = {
#define LTR_SETTINGS_SECTION(Token, name, amends) K::Token,
#define LTR_VALUES_SECTION(Token, name) K::Token,
#include "dsl/ast/section.def"
  };
  constexpr KindSet kObjects = {K::Model, K::Block, K::Data, K::Metric, K::Callback};
  if (kSections.has(start->kind) && at == std::next(start) && at->kind == K::OpenParen) {
    diagnostic.help("a section stands in braces: `{} { … }`", state.text(*start));
  } else if (kObjects.has(start->kind) && at->kind == K::OpenBrace && expects(state, K::OpenParen)) {
    const Span behind = {at->span.source, std::prev(at)->span.end, std::prev(at)->span.end};
    diagnostic.help("parameters stand in brackets, and brackets if there are none: `{}()`", state.text(*std::prev(at)))
        .fix(behind, "()");
  } else if (at->kind == K::OpenBrace && is_optimizer(state, start, at)) {
    diagnostic.help("an optimizer is declared: `optimizer {} = …`", state.text(*start))
        .fix({start->span.source, start->span.begin, start->span.begin}, "optimizer ");
  } else if (at->kind == K::OpenBrace && std::next(at)->kind == K::Freeze) {
    diagnostic.help("`freeze` is of a file that the member loads: `… from \"weights.safetensors\" { freeze \"*\" }`")
        .note("the callback `FreezeUntil` holds weights that begin anew");
  } else {
    return false;
  }
  return true;
}

}  // namespace

void add_help(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  const bool is_first_word =
      level == Level::Statement && start->kind == K::Name && at == std::next(start) && !at->starts_line;
  if (help_bracketed_lambda(at, state, diagnostic) || help_percentage(at, state, diagnostic)) return;
  if (start->kind == K::Import) return help_import(state, start, at, diagnostic);
  if (at->kind == K::Name && expects(state, Expected::CallbackMember))
    return help_callback_member(state, at, diagnostic);
  if (help_missing_type(state, level, start, at, diagnostic) || help_first_word(state, start, at, diagnostic) ||
      help_mark(state, level, at, diagnostic) || help_in_statement(state, level, start, at, diagnostic) ||
      help_braces(state, start, at, diagnostic))
    return;
  if (const auto advice = is_first_word && at->kind == K::OpenParen && expects(state, K::Assign)
                              ? diagnostics::foreign_advice(state.text(*start))
                              : std::nullopt) {
    diagnostic.help("{}", std::string(*advice));
  } else if (const auto meant = is_first_word ? near_statement(state.text(*start)) : std::nullopt) {
    diagnostic.help("did you mean `{}`?", *meant).fix(start->span, *meant);
  } else if (const Iter name = start->kind == K::Let ? std::next(start) : start;
             level == Level::Statement && at == std::next(name) && lacks_sign(state, name) && !has_result(state, at)) {
    diagnostic.help("a value is given with `=`: `{} = …`", state.text(*name))
        .fix({at->span.source, at->span.begin, at->span.begin}, "= ");
  } else if (at == std::next(start) && expects(state, K::Assign) && has_result(state, at)) {
    diagnostic.help("a function begins with `fn`")
        .fix({start->span.source, start->span.begin, start->span.begin}, "fn ");
  } else if (is_first_word && expects(state, K::Assign) && has_result(state, std::next(at))) {
    diagnostic.help("a function begins with `fn`").fix(start->span, "fn");
  } else if (at->kind == K::Not && expects(state, Expected::Expression)) {
    diagnostic.help("in brackets: `(not x)`");
  } else if (at->kind == K::Plus && kind_before(state, at) == K::Plus && lex::is_word(kind_before(state, at, 2))) {
    diagnostic.help("one more is `{} += 1`", state.text(*std::prev(at, 2)))
        .fix(state.span(std::prev(at), at + 1), " += 1");
  } else if (at->kind == K::Colon && kind_before(state, at) == K::CloseParen && expects(state, K::OpenBrace)) {
    diagnostic.help("the type of the result stands behind `->`").fix(at->span, "->");
  } else if (at->kind == K::Plus && expects(state, Expected::Expression)) {
    diagnostic.help("there is no unary `+`");
  } else if (at->kind == K::Range && expects(state, Expected::Separator)) {
    diagnostic.help("ranges do not chain, and one without an end stands in an index only");
  } else if ((at->kind == K::Str || at->kind == K::StrBegin) && at->starts_line) {
    diagnostic.help("documentation is written with `##` above the declaration");
  } else if (start->kind == K::Batch && expects(state, K::OpenBrace)) {
    diagnostic.help("the batch is written `batch[B] { image: float[B, 28, 28], label: i64[B] }`");
  } else if (expects(state, K::OpenBrace) && expects(state, K::Assign)) {
    diagnostic.help("a body is `{ … }`, or `= value` if it is one value");
  } else if (kNames.has(at->kind)) {
    help_near_word(state, at, diagnostic);
  }
}

}  // namespace ltr::parse
