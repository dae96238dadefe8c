#include <array>
#include <utility>

#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/state.h"
#include "runtime/tables/roles.h"

// People come from Python. Where a program stops parsing because of a habit, the habit is named.
namespace ltr::parse {

namespace {

using K = TokenKind;

struct Habit {
  std::string_view word;
  std::string_view shown;
  std::string_view ours;
};

/// First words of a statement or declaration.
constexpr std::array kFirstWords = {
    Habit{"def", "def", "`fn name(x: float[B, 3]) -> float[B] { … }`"},
    Habit{"class", "class", "`block Name(size: int) { … }`, or a `model`, a `metric`, a `data`"},
    Habit{"func", "func", "`fn`"},
    Habit{"function", "function", "`fn`"},
    Habit{"from", "from … import", "`import std.vision.{resize}`"},
    Habit{"elif", "elif", "`else if`"},
    Habit{"pass", "pass", "an empty body `{ }`"},
    Habit{"try", "try", "not needed: there are no exceptions to catch"},
    Habit{"except", "except", "not needed: there are no exceptions to catch"},
    Habit{"raise", "raise", "`assert condition, \"message\"`"},
    Habit{"with", "with", "`no_grad { … }`, or nothing"},
    Habit{"del", "del", "not needed: tensors are values"},
    Habit{"global", "global", "a `const` or an `hparam`"},
    Habit{"async", "async", "not needed: data is read by workers"},
    Habit{"break", "break", "a `while` with its condition"},
    Habit{"continue", "continue", "an `if` around the rest of the loop's body"},
    Habit{"var", "var", "`name = value`"},
};

const Habit* find_first_word(std::string_view word) {
  for (const Habit& habit : kFirstWords) {
    if (habit.word == word) return &habit;
  }
  return nullptr;
}

}  // namespace

bool is_first_word_elsewhere(std::string_view word) { return find_first_word(word) != nullptr; }

namespace {

/// A word that begins something: what follows it is on the same line and no sign that it is a plain name.
bool begins_something(Iter start) {
  if (!lex::is_word(start->kind)) return false;
  const Iter next = std::next(start);
  constexpr KindSet kEnds = {K::Newline, K::CloseBrace, K::Colon, K::OpenBrace};
  if (kEnds.has(next->kind)) return true;
  return lex::is_word(next->kind) && !next->starts_line;
}

/// Whether the innermost braces around `at` are those of a model.
bool is_in_model(const State& state, Iter at) {
  Iter opener = opener_of_params(state, at);
  while (opener != state.begin() && !opener->starts_line) --opener;
  return opener->kind == K::Model;
}

/// `def training_step(self, batch):` and its like, which are no functions here.
std::optional<diagnostics::Diagnostic> find_python_method(const State& state, Iter start, const Habit& habit) {
  const Iter name = std::next(start);
  if (habit.word != "def" || !kNames.has(name->kind)) return std::nullopt;
  const std::string_view word = state.text(*name);
  const std::string shown = "def " + std::string(word);
  const Span span = state.span(start, std::next(name));
  if (is_role(word) && is_in_model(state, start))
    return diag::python_form(span, shown, "`step " + std::string(word) + "[B](…) { … }`").fix(start->span, "step");
  if (const auto advice = diagnostics::foreign_advice(word))
    return diag::python_form(span, shown, "written otherwise").help("{}", std::string(*advice));
  const auto hook = diagnostics::renamed(word);
  if (!hook || !word.starts_with("on_")) return std::nullopt;
  return diag::python_form(span, shown, "`on " + std::string(*hook) + " { … }`");
}

/// `import .lib.parts`, and `import lib.parts.*`.
std::optional<diagnostics::Diagnostic> find_python_import(const State& state, Iter start, Iter at) {
  Iter first = std::next(start);
  if (first->kind == K::Dot) {
    const Span dot = first->span;
    return diag::python_form(dot, "import .module",
                             "the path from the folder of this file: `import lib.parts as parts`")
        .help("without the dot")
        .fix(dot, "");
  }
  if (at->kind != K::Star || std::prev(at)->kind != K::Dot) return std::nullopt;
  const Span path = state.span(first, std::prev(at));
  const std::string_view text = state.text().substr(path.begin, path.end - path.begin);
  return diag::python_form(at->span, "import *", "each name by itself: `import " + std::string(text) + ".{NAME}`")
      .help("or all under a name: `import {} as {}`, and `{}.NAME`", text, state.text(*std::prev(at, 2)),
            state.text(*std::prev(at, 2)));
}

/// Whether a word stands on the line that begins at `start`.
bool mentions(const State& state, Iter start, std::string_view word) {
  for (Iter at = start; at->kind != K::End && at->kind != K::Newline; ++at) {
    if (state.text(*at) == word) return true;
  }
  return false;
}

/// Whether `at` stands in `[… for x in …`.
bool is_in_comprehension(Iter start, Iter at) {
  int depth = 0;
  bool has_for = false;
  while (at != start) {
    --at;
    if (at->kind == K::CloseParen || at->kind == K::CloseBracket) ++depth;
    if (at->kind == K::OpenParen || at->kind == K::OpenBracket) --depth;
    if (depth < 0) return has_for && at->kind == K::OpenBracket;
    has_for = has_for || (depth == 0 && at->kind == K::For);
  }
  return false;
}

}  // namespace

Iter opener_of_params(const State& state, Iter param) {
  int depth = 0;
  Iter at = param;
  while (at != state.begin()) {
    --at;
    if (at->kind == K::CloseParen || at->kind == K::CloseBracket || at->kind == K::CloseBrace) ++depth;
    if (at->kind == K::OpenParen || at->kind == K::OpenBracket || at->kind == K::OpenBrace) --depth;
    if (depth < 0) break;
  }
  return at;
}

bool is_of_object(const State& state, Iter opener) {
  constexpr KindSet kObjects = {K::Block, K::Model, K::Metric, K::Data, K::Callback};
  return opener - state.begin() >= 2 && kObjects.has(std::prev(opener, 2)->kind);
}

bool is_base_class(const State& state, Iter param) {
  if (!kNames.has(param->kind) || !is_of_object(state, opener_of_params(state, param))) return false;
  const Iter next = std::next(param);
  if (next->kind == K::Dot) return true;
  const char first = state.text(*param)[0];
  return (next->kind == K::Comma || next->kind == K::CloseParen) && first >= 'A' && first <= 'Z';
}

std::optional<diagnostics::Diagnostic> find_python_param(const State& state, Iter start) {
  Iter end = start;
  if (!is_base_class(state, start)) return std::nullopt;
  while (lex::is_word(end->kind) || end->kind == K::Dot) ++end;
  const Span span = state.span(start, end);
  return diag::python_form(span, state.text().substr(span.begin, span.end - span.begin),
                           "nothing: there is no inheritance, and the brackets hold parameters")
      .help("`{} {}(size: int) { … }`", state.text(*std::prev(start, 3)), state.text(*std::prev(start, 2)));
}

std::optional<diagnostics::Diagnostic> find_python_word(const ast::Name& statement) {
  if (statement.text != "pass" && statement.text != "break" && statement.text != "continue") return std::nullopt;
  const Habit* habit = find_first_word(statement.text);
  return diag::python_form(statement.span, habit->shown, habit->ours);
}

diagnostics::Diagnostic python_colon(Span colon) { return diag::python_form(colon, ":", "`{ … }` around the body"); }

bool is_python_header(const State& state, Iter start, Iter at) {
  if (start->kind == K::End) return false;
  if (start->kind == K::Name && begins_something(start) && find_first_word(state.text(*start)) != nullptr) {
    const std::string_view word = state.text(*start);
    return word != "pass" && word != "del" && word != "var" && word != "func" && word != "function";
  }
  return at->kind == K::Colon && std::next(at)->kind == K::Newline;
}

std::optional<PythonImport> read_python_import(const State& state, Iter start) {
  PythonImport import;
  Iter at = std::next(start);
  for (; !at->starts_line && at->kind != K::Import && at->kind != K::End; ++at) import.path += state.text(*at);
  if (at->kind != K::Import) return std::nullopt;
  Iter last = at;
  for (++at; !at->starts_line && lex::is_word(at->kind); ++at) {
    import.imported += (import.imported.empty() ? "" : ", ") + std::string(state.text(*at));
    import.names.push_back(state.name(*at));
    last = at++;
    if (at->kind == K::As && lex::is_word(std::next(at)->kind)) {
      import.names.back() = state.name(*++at);
      import.is_plain = false;
      last = at++;
    }
    if (at->kind != K::Comma) break;
  }
  if (import.names.empty()) return std::nullopt;
  import.span = source::join(start->span, last->span);
  return import;
}

namespace {

/// What is said of `from torch.nn import Linear`, which another library has: it is in scope by itself. Empty of other modules.
std::string advice_of_package(const PythonImport& import) {
  std::string said;
  const auto look = [&](const std::string& word) {
    if (diagnostics::is_foreign_package(word)) said = *diagnostics::foreign_advice(word);
  };
  std::string_view rest = import.path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('.'), rest.size());
    look(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (said.empty()) return "";
  for (const ast::Name& name : import.names) {
    if (import.is_plain) look(name.text);
  }
  return "not needed: " + said;
}

}  // namespace

std::optional<diagnostics::Diagnostic> find_python_form(const State& state, Iter start, Iter at) {
  if (start->kind == K::At && start->starts_line) {
    return diag::python_form(start->span, "@decorator", "not needed");
  }
  if (begins_something(start) && (start->kind == K::Name || start->kind == K::From || start->kind == K::With)) {
    if (const Habit* habit = find_first_word(state.text(*start))) {
      if (auto method = find_python_method(state, start, *habit)) return method;
      const bool is_other_with = habit->word == "with" && !mentions(state, start, "no_grad");
      const auto import = habit->word == "from" ? read_python_import(state, start) : std::nullopt;
      const std::string package = import ? advice_of_package(*import) : "";
      const bool is_ours = import && import->is_plain && !import->path.empty() && package.empty();
      const std::string import_form = is_ours ? "import " + import->path + ".{" + import->imported + "}" : "";
      diagnostics::Diagnostic diagnostic =
          diag::python_form(start->span, habit->shown,
                            is_other_with      ? "not needed: there is nothing to enter and to leave"
                            : is_ours          ? "`" + import_form + "`"
                            : !package.empty() ? package
                                               : std::string(habit->ours));
      if (is_ours) diagnostic.fix(import->span, import_form);
      const Iter brace = std::find_if(start, at, [](const lex::Token& one) { return one.kind == K::OpenBrace; });
      if (habit->word == "with" && !is_other_with && brace->kind == K::OpenBrace)
        diagnostic.fix(state.span(start, brace), "no_grad");
      if (habit->word == "def" || habit->word == "func" || habit->word == "function") diagnostic.fix(start->span, "fn");
      return diagnostic;
    }
  }
  if (state.text(*start) == "self" && at == std::next(start) && at->kind == K::Dot && kNames.has(std::next(at)->kind)) {
    const Span gone = state.span(start, std::next(at));
    return diag::python_form(gone, "self.", "nothing: a member is declared by its name").fix(gone, "");
  }
  if (start->kind == K::For && at->kind == K::Comma) {
    const Span names = state.span(std::next(start), at + 2);
    if (mentions(state, start, "zip"))
      return diag::python_form(names, "for x, y in zip(xs, ys)", "`for i in 0 .. xs.length { x = xs[i]; y = ys[i] }`");
    return diag::python_form(names, "for i, x in enumerate(xs)", "`for i in 0 .. xs.length { x = xs[i] }`");
  }
  if (at->kind == K::Colon && std::next(at)->kind == K::Newline) return python_colon(at->span);
  if (at != start && std::prev(at)->kind == K::Name && state.text(*std::prev(at)) == "self" &&
      (at->kind == K::Comma || at->kind == K::CloseParen)) {
    const Iter self = std::prev(at);
    Span gone = self->span;
    if (at->kind == K::Comma) gone.end = std::next(at)->span.begin;
    return diag::python_form(self->span, "self", "not a parameter: members are in scope by their names").fix(gone, "");
  }
  const auto expects = [&](Expected what) { return state.expected_.test(static_cast<size_t>(what)); };
  if ((at->kind == K::Star || at->kind == K::Power) && expects(Expected::Name) && expects(Expected(K::CloseParen))) {
    const Span span = state.span(at, kNames.has(std::next(at)->kind) ? at + 2 : at + 1);
    return diag::python_form(span, state.text().substr(span.begin, span.end - span.begin),
                             "each parameter by its name and type, `p: float = 0.1`");
  }
  const bool follows_value = !expects(Expected::Name) && !expects(Expected::Expression);
  if (at->kind == K::If && is_in_comprehension(start, at)) {
    return diag::python_form(at->span, "[f(x) for x in xs if c]", "`[if c then f(x) else g(x) for x in xs]`")
        .note("the length of a list is known before the program runs, so none of its elements is left out")
        .help("of a range say its ends, `for i in 2 .. n`; records of a stream are left out by `filter`");
  }
  if (at->kind == K::For && !at->starts_line && at != start && follows_value &&
      state.expected_.test(static_cast<size_t>(K::CloseParen))) {
    return diag::python_form(at->span, "f(x for x in xs)", "a list, in brackets: `f([x for x in xs])`");
  }
  if (at->kind == K::If && !at->starts_line && at != start && follows_value) {
    return diag::python_form(at->span, "a if c else b", "`if c then a else b`");
  }
  if (at->kind == K::Not && std::next(at)->kind == K::In) {
    return diag::python_form(state.span(at, at + 2), "a not in b", "`not a in b`");
  }
  if (at->kind == K::Name && state.text(*at) == "is") {
    const bool is_negated = std::next(at)->kind == K::Not;
    return diag::python_form(at->span, is_negated ? "is not" : "is", is_negated ? "`!=`" : "`==`")
        .fix(state.span(at, is_negated ? at + 2 : at + 1), is_negated ? "!=" : "==");
  }
  if (at->kind == K::Name && state.text(*at) == "lambda") {
    return diag::python_form(at->span, "lambda", "`x => value`");
  }
  if (start->kind == K::Import) {
    if (auto import = find_python_import(state, start, at)) return import;
  }
  if (start->kind == K::Import && at->kind == K::From) {
    return diag::python_form(at->span, "import x from", "`import std.module.{x}`, or `import \"file.ltr\" as x`");
  }
  if (at->kind == K::Import && start->kind == K::From) {
    return diag::python_form(start->span, "from … import", "`import std.vision.{resize}`");
  }
  return std::nullopt;
}

}  // namespace ltr::parse
