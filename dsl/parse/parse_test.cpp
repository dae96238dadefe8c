#include "dsl/parse/parse.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "dsl/ast/dump.h"
#include "dsl/ast/walk.h"
#include "dsl/diagnostics/render.h"

namespace ltr::parse {

namespace {

struct Parsed {
  source::SourceManager sources;
  diagnostics::Sink sink;
  ast::Module module;

  explicit Parsed(std::string text) {
    const source::SourceId id = sources.add("t.ltr", std::move(text));
    module = parse(id, sources, sink);
  }
  std::string errors() const {
    std::string out;
    for (const auto& diagnostic : sink.sorted()) out += diagnostics::render_short(diagnostic, sources);
    return out;
  }
  std::string dump() const { return ast::dump_ast(module, &sources); }
};

struct Count {
  size_t nodes = 0;
  void operator()(const auto& node) {
    ++nodes;
    ast::for_each_child(node, *this);
  }
};

std::string repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// The value of `const a = …`, as text.
std::string value(const std::string& text) {
  const Parsed parsed("ltr 1\nconst a = " + text + "\n");
  CHECK(parsed.errors() == "");
  REQUIRE(parsed.module.decls.size() == 1);
  return ast::dump_ast(parsed.module.decls[0].get<ast::Const>()->value, parsed.sources);
}

}  // namespace

TEST_CASE("three mistakes are three diagnostics") {
  const Parsed parsed(
      "ltr 1\nfn f(x: int) -> int {\n  a = 1 +\n  b = (2\n  c = 3\n  d = 4 4\n  return c\n}\nconst z = 1\n");
  CHECK(parsed.errors() ==
        "t.ltr:3:10: error[E0201]: expected a value, found end of line\n"
        "t.ltr:4:7: error[E0202]: `(` is never closed\n"
        "t.ltr:6:9: error[E0201]: expected end of line, found the number `4`\n");
  REQUIRE(parsed.module.decls.size() == 2);
  const auto* fn = parsed.module.decls[0].get<ast::Fn>();
  REQUIRE(fn != nullptr);
  REQUIRE(fn->body.size() == 5);
  CHECK(fn->body[0].get<ast::Assign>()->value.is_error());  // `a` is still a name
  CHECK(fn->body[2].get<ast::Assign>() != nullptr);
  // What `d` would be is not known: it is a name without a meaning.
  const auto* broken = fn->body[3].get<ast::ErrorStmt>();
  REQUIRE(broken != nullptr);
  REQUIRE(broken->names.size() == 1);
  CHECK(broken->names[0].text == "d");
}

TEST_CASE("a hundred thousand brackets are one diagnostic") {
  for (const char* bracket : {"(", "[", "-", "not ", "f(", "x => ", "if a then "}) {
    CAPTURE(bracket);
    const Parsed parsed("ltr 1\nfn f() {\n  x = " + repeat(bracket, 100'000) + "\n}\nconst a = 1 2\n");
    CHECK(parsed.sink.error_count() == 2);
    CHECK(parsed.sink.sorted().front().code == diagnostics::Code::E0008);
  }
}

TEST_CASE("other ways to nest are limited too") {
  CHECK(Parsed("ltr 1\nfn f() " + repeat("{ if x ", 1000)).sink.has_errors());
  CHECK(Parsed("ltr 1\nfn f() { if x { }" + repeat(" else if x { }", 100'000) + "}").sink.error_count() == 1);
  CHECK(Parsed("ltr 1\nfn f(x: " + repeat("list[", 100'000)).sink.has_errors());
  CHECK(Parsed("ltr 1\nconst a = " + repeat("1 + ", 100'000) + "1").sink.error_count() == 1);
  CHECK(Parsed("ltr 1\nconst a = x" + repeat(" |> f", 100'000)).sink.error_count() == 1);
  CHECK(Parsed("ltr 1\nconst a = x" + repeat(".a", 100'000)).sink.error_count() == 1);
  CHECK(Parsed("ltr 1\nconst a = 2" + repeat(" ** 2", 100'000)).sink.error_count() == 1);
  CHECK_FALSE(Parsed("ltr 1\nconst a = " + repeat("1 + ", 900) + "1").sink.has_errors());
  CHECK_FALSE(Parsed("ltr 1\nconst a = " + repeat("(", 100) + "1" + repeat(")", 100)).sink.has_errors());
}

TEST_CASE("precedence is as the grammar says") {
  CHECK(value("1 + 2 * 3") ==
        "Binary + 2:11-2:20\n"
        "  Int 1 2:11-2:12\n"
        "  Binary * 2:15-2:20\n"
        "    Int 2 2:15-2:16\n"
        "    Int 3 2:19-2:20\n");
  CHECK(value("-x ** 2").starts_with("Unary -"));
  CHECK(value("2 ** -1").starts_with("Binary **"));
  CHECK(value("a ** b ** c") ==
        "Binary ** 2:11-2:22\n"
        "  Name a 2:11-2:12\n"
        "  Binary ** 2:16-2:22\n"
        "    Name b 2:16-2:17\n"
        "    Name c 2:21-2:22\n");
  CHECK(value("not a == b and c").starts_with("Binary and 2:11-2:27\n  Unary not 2:11-2:21\n    Binary =="));
  CHECK(value("a in 0 .. n + 1").starts_with("Binary in 2:11-2:26\n  Name a 2:11-2:12\n  Binary .. 2:16-2:26\n"));
  CHECK(value("a or b |> f").starts_with("Pipe"));
  CHECK(value("x as f32 ** 2").starts_with("Binary **"));
  CHECK(value("a - b - c").starts_with("Binary - 2:11-2:20\n  Binary - 2:11-2:16\n"));
}

TEST_CASE("brackets build what they look like") {
  CHECK(value("(1)").starts_with("Paren"));
  CHECK(value("(1, 2)").starts_with("Tuple"));
  CHECK(value("(1,)").starts_with("Tuple"));
  CHECK(value("(a = 1)").starts_with("Record"));
  CHECK(value("(a == 1)").starts_with("Paren"));
  CHECK(value("[1, 2,]").starts_with("List"));
  CHECK(value("[]") == "List 2:11-2:13\n");
  CHECK(value("[i for i in 0 .. 3]").starts_with("Comprehension i"));
}

TEST_CASE("the parts of a string have their places") {
  CHECK(value("\"a{b + 1:.3}\"") ==
        "Str 2:11-2:24\n"
        "  Text \"a\" 2:12-2:13\n"
        "  Value format \".3\" 2:13-2:23\n"
        "    Binary + 2:14-2:19\n"
        "      Name b 2:14-2:15\n"
        "      Int 1 2:18-2:19\n");
}

TEST_CASE("words of the language name things where nothing else is meant") {
  for (const char* word :
       {"weight", "state", "step", "data", "model", "log",  "test",  "min", "where", "from", "over",
        "dim",    "scan",  "new",  "at",   "batch", "init", "group", "set", "on",    "text", "image"}) {
    CAPTURE(word);
    const std::string name(word);
    const Parsed parsed("ltr 1\nblock B(" + name + ": int) {\n  " + name + " = f(" + name + " = " + name + ")\n  fn " +
                        name + "(" + name + ": float) -> float {\n    " + name + " = x." + name + "\n    " + name +
                        " += 1\n    return " + name + "(" + name + ")\n  }\n}\n");
    CHECK(parsed.errors() == "");
  }
}

TEST_CASE("a walk meets every node once") {
  Parsed parsed(
      "ltr 1\nfn f(x: float[B + 1]) -> int { y = \"{x}\"[1 ..]; return g(a = y) }\ntopology t { a = 1, b { c = 2 } "
      "}\n");
  CHECK(parsed.errors() == "");
  Count count;
  ast::for_each_child(std::as_const(parsed.module), count);
  CHECK(count.nodes == 19);
}

TEST_CASE("documentation goes to its declaration") {
  const Parsed parsed("ltr 1\n## One.\n## Two.\nconst a = 1\nblock B() {\n  ## In.\n  w = f()\n}\n");
  CHECK(parsed.module.decls.at(0).doc == "One.\nTwo.");
  CHECK(parsed.module.decls.at(1).get<ast::Block>()->items.at(0).doc == "In.");
}

TEST_CASE("the edition is asked for") {
  CHECK(Parsed("ltr 2\n").errors() == "t.ltr:1:5: error[E0001]: unknown edition 2\n");
  CHECK(Parsed("").errors() == "t.ltr:1:1: error[E0002]: the file does not begin with its edition\n");
  CHECK(Parsed("# a comment\n\nltr 1\n").errors() == "");
  CHECK(Parsed("ltr 1 const a = 2\n").errors() == "t.ltr:1:7: error[E0201]: expected end of line, found `const`\n");
}

TEST_CASE("fixes mend what they belong to") {
  const std::string wrong =
      "ltr 1\nfn f(n: int) -> int {\n  if n = 0 { return True }\n  return n && \xe2\x80\x9cx\xe2\x80\x9d\n}\n";
  Parsed parsed(wrong);
  std::vector<diagnostics::Fix> fixes;
  for (const auto& diagnostic : parsed.sink.sorted()) {
    fixes.insert(fixes.end(), diagnostic.fixes.begin(), diagnostic.fixes.end());
  }
  std::string mended = wrong;
  for (size_t i = fixes.size(); i-- > 0;) {
    mended.replace(fixes[i].span.begin, fixes[i].span.end - fixes[i].span.begin, fixes[i].replacement);
  }
  CHECK(mended == "ltr 1\nfn f(n: int) -> int {\n  if n == 0 { return true }\n  return n and \"x\"\n}\n");
  CHECK(Parsed(mended).errors() == "");
}

TEST_CASE("any tokens are parsed to an end") {
  constexpr std::array kWords = {
      "ltr 1\n", "fn ",   "model ", "data ",    "step ", "experiment ", "x ",    "(",    ") ",      "[",
      "] ",      "{ ",    "}\n",    "\n",       "= ",    "==",          ": ",    ", ",   "-> ",     "|> ",
      "..",      ". ",    "3 ",     "\"{x}\" ", "if ",   "else ",       "for ",  "in ",  "return ", "log ",
      "scan ",   "over ", "not ",   "- ",       "as ",   "lambda ",     "self.", "def ", "group ",  "\"s\" ",
      "where ",  "set ",  "on ",    "state ",   "batch", "shard ",      "; ",    "? ",   "+ "};
  uint32_t state = 7;
  for (int round = 0; round < 2'000; ++round) {
    std::string text = round % 2 == 0 ? "ltr 1\n" : "";
    for (int i = 0; i <= round % 40; ++i) {
      state = state * 1664525U + 1013904223U;
      text += kWords[(state >> 16U) % kWords.size()];
    }
    CAPTURE(text);
    const Parsed parsed(text);
    CHECK(parsed.module.decls.size() <= text.size());
  }
}

}  // namespace ltr::parse
