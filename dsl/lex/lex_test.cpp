#include "dsl/lex/lex.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace ltr::lex {

namespace {

struct Lexed {
  std::string text;
  diagnostics::Sink sink;
  TokenBuffer buffer;

  explicit Lexed(std::string source) : text(std::move(source)), buffer(lex({1}, text, sink)) {}
  /// Kinds with spaces between, `End` left out.
  std::string kinds() const {
    std::string out;
    for (const Token& token : buffer.tokens) {
      if (token.kind == TokenKind::End) continue;
      if (!out.empty()) out += ' ';
      out += name_of(token.kind);
    }
    return out;
  }
  size_t count(TokenKind kind) const {
    return static_cast<size_t>(std::count_if(buffer.tokens.begin(), buffer.tokens.end(),
                                             [&](const Token& token) { return token.kind == kind; }));
  }
};

}  // namespace

TEST_CASE("punctuation takes the longest match") {
  CHECK(Lexed("** *= * += -> -= => == = <= < >= > != ... .. . |> ? @").kinds() ==
        "Power StarAssign Star PlusAssign Arrow MinusAssign FatArrow Equal Assign LessEqual Less GreaterEqual Greater "
        "NotEqual Ellipsis Range Dot Pipe Question At");
}

TEST_CASE("a range of integers is not two fractions") { CHECK(Lexed("0..4").kinds() == "Int Range Int"); }

TEST_CASE("numbers have their values") {
  const Lexed lexed("1_000 0x1f 1e-3 2.5 9223372036854775807");
  CHECK(lexed.buffer.ints == std::vector<int64_t>{1000, 31, INT64_MAX});
  CHECK(lexed.buffer.floats == std::vector<double>{1e-3, 2.5});
  CHECK_FALSE(lexed.sink.has_errors());
}

TEST_CASE("a unit stands behind a number on its line and nowhere else") {
  CHECK(Lexed("5 epochs").kinds() == "Int Unit");
  CHECK(Lexed("30ms").kinds() == "Int Unit");
  CHECK(Lexed("5\nepochs = 3").kinds() == "Int Newline Name Assign Int");
  CHECK(Lexed("x steps").kinds() == "Name Name");
  CHECK(Lexed("1 epoch").buffer.strings == std::vector<std::string>{"epochs"});
  CHECK(Lexed("0 then 1 else 2 and 3 or 4 in 5 for 6 as 7 where 8 with 9 over").count(TokenKind::Unit) == 0);
  CHECK_FALSE(Lexed("1 dim").sink.has_errors());
}

TEST_CASE("a newline ends a statement unless something is open or to come") {
  CHECK(Lexed("a\nb").kinds() == "Name Newline Name");
  CHECK(Lexed("a\n\n\n# c\nb").kinds() == "Name Newline Name");
  CHECK(Lexed("a +\nb").kinds() == "Name Plus Name");
  CHECK(Lexed("a and\nb").kinds() == "Name And Name");
  CHECK(Lexed("a\n+ b").kinds() == "Name Newline Plus Name");
  CHECK(Lexed("(a\nb)").kinds() == "OpenParen Name Name CloseParen");
  CHECK(Lexed("[{a\nb}]").kinds() == "OpenBracket OpenBrace Name Newline Name CloseBrace CloseBracket");
  CHECK(Lexed("a\n|> b\n.c\n-> d\nwhere e\nelse f").count(TokenKind::Newline) == 0);
  CHECK(Lexed("a\nwhere = 3").count(TokenKind::Newline) == 1);
  CHECK(Lexed("{\na\n}").kinds() == "OpenBrace Name Newline CloseBrace");
}

TEST_CASE("an assignment without a value does not take the next line") {
  CHECK(Lexed("a =\nb = 3").kinds() == "Name Assign Newline Name Assign Int");
  CHECK(Lexed("a =\nb.c = 3").count(TokenKind::Newline) == 1);
  CHECK(Lexed("a =\nmodel M").count(TokenKind::Newline) == 1);
  CHECK(Lexed("a =\nb + 3").count(TokenKind::Newline) == 0);
}

TEST_CASE("an unclosed bracket does not join lines") {
  const Lexed lexed("{ x = (1\ny = 2\n}");
  CHECK(lexed.count(TokenKind::Newline) == 2);
  REQUIRE(lexed.buffer.brackets.size() == 2);
  CHECK(lexed.buffer.brackets[0].is_closed);
  CHECK_FALSE(lexed.buffer.brackets[1].is_closed);
}

TEST_CASE("a missing brace is found by indentation") {
  const Lexed lexed("block A() {\n  fn f() {\n    x = 1\n  y = 2\n}\n");
  REQUIRE(lexed.buffer.brackets.size() == 4);
  CHECK(lexed.buffer.brackets[1].is_closed);
  CHECK_FALSE(lexed.buffer.brackets[3].is_closed);
  CHECK(lexed.buffer.tokens[lexed.buffer.brackets[3].closer].span.begin == lexed.text.find("y = 2"));
}

TEST_CASE("a program without any layout keeps its plain brackets") {
  const Lexed lexed("a {\nb {\nc = 1\n} }\n(");
  REQUIRE(lexed.buffer.brackets.size() == 3);
  CHECK(lexed.buffer.brackets[0].is_closed);
  CHECK(lexed.buffer.brackets[1].is_closed);
  CHECK_FALSE(lexed.buffer.brackets[2].is_closed);
}

TEST_CASE("a string is one token, or its pieces") {
  CHECK(Lexed(R"("plain")").kinds() == "Str");
  CHECK(Lexed(R"("{x}")").kinds() == "StrBegin InterpBegin Name InterpEnd StrEnd");
  CHECK(Lexed(R"("a{f(x)[1]:.3}b")").kinds() ==
        "StrBegin StrText InterpBegin Name OpenParen Name CloseParen OpenBracket Int CloseBracket InterpFormat "
        "InterpEnd StrText StrEnd");
  CHECK(Lexed(R"(r"\d{x}")").buffer.strings == std::vector<std::string>{"\\d{x}"});
  CHECK(Lexed(R"("\n\t\"\\\{\u{2265}\u{41}")").buffer.strings == std::vector<std::string>{"\n\t\"\\{\u2265A"});
  CHECK(Lexed("\"\"\"a\n\"b\"\r\nc\"\"\"").buffer.strings == std::vector<std::string>{"a\n\"b\"\nc"});
}

TEST_CASE("comments are kept and docs belong to what follows") {
  const Lexed lexed("## One.\n##  two\n# plain\nfn f\n### line\nx # behind\n");
  REQUIRE(lexed.buffer.comments.size() == 5);
  CHECK(lexed.buffer.comments[0].is_doc);
  CHECK_FALSE(lexed.buffer.comments[3].is_doc);
  CHECK_FALSE(lexed.buffer.comments[4].owns_line);
  REQUIRE(lexed.buffer.docs.size() == 1);
  CHECK(lexed.buffer.docs[0].text == "One.\n two");
  CHECK(*lexed.buffer.find_doc(static_cast<uint32_t>(lexed.text.find("fn"))) == "One.\n two");
}

TEST_CASE("words are reserved or contextual") {
  CHECK(is_reserved(TokenKind::In));
  CHECK(is_name(TokenKind::Weight));
  CHECK_FALSE(is_name(TokenKind::In));
  CHECK(find_word("experiment") == TokenKind::Experiment);
  CHECK(find_word("epochs") == TokenKind::Name);
  CHECK(describe(TokenKind::CloseParen) == "`)`");
}

TEST_CASE("line ends and a byte-order mark are no matter") {
  CHECK(Lexed("\xef\xbb\xbfltr 1\r\na\r\n").kinds() == "Ltr Int Newline Name Newline");
}

TEST_CASE("any bytes give tokens that end in End and go forward") {
  std::string text;
  uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    text.clear();
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525U + 1013904223U;
      constexpr std::string_view kAlphabet = "\"\"\"'{}()[]\\ur:#\n\r .0x1e_5az=|&!/\xe2\x80\x9c\xff\x80";
      text += kAlphabet[(state >> 16U) % kAlphabet.size()];
    }
    const Lexed lexed(text);
    REQUIRE(lexed.buffer.tokens.back().kind == TokenKind::End);
    uint32_t at = 0;
    for (const Token& token : lexed.buffer.tokens) {
      REQUIRE(token.span.begin <= token.span.end);
      REQUIRE(token.span.end <= text.size());
      REQUIRE(token.span.begin >= at);
      at = token.span.begin;
    }
  }
}

}  // namespace ltr::lex
