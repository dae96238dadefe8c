#include "dsl/diagnostics/render.h"

#include <doctest/doctest.h>

namespace ltr::diagnostics {

namespace {

/// A file in which spans are found by their text.
struct File {
  source::SourceManager sources;
  source::SourceId id;
  std::string text;

  explicit File(std::string content, const std::string& path = "train.ltr") : text(std::move(content)) {
    id = sources.add(path, text);
  }
  Span operator[](std::string_view part) const {
    const size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return {id, static_cast<uint32_t>(at), static_cast<uint32_t>(at + part.size())};
  }
};

}  // namespace

TEST_CASE("labelled operands are marked in place of the operator") {
  const File file(
      "ltr 1\n"
      "  step train[B](x: float[B, 8], y: float[B]) {\n"
      "    loss = mean((net(x) - y) ** 2)\n");
  const Span operand = {file.id, file["- y)"].begin + 2, file["- y)"].begin + 3};
  const Span op = {file.id, file["- y)"].begin, file["- y)"].begin + 1};
  const Diagnostic diagnostic = diag::unexpected_token(op, "float[B, 1]", "float[B]")
                                    .label(file["y: float[B]"], "y: float[B] comes from here")
                                    .label(file["net(x)"], "float[B, 1]")
                                    .label(operand, "float[B]")
                                    .note("broadcasting would silently make float[B, B]")
                                    .help("net(x).squeeze(1)");
  CHECK(render_human(diagnostic, file.sources) ==
        "error[E0201]: expected float[B, 1], found float[B]\n"
        " --> train.ltr:3:25\n"
        "  |\n"
        "2 |   step train[B](x: float[B, 8], y: float[B]) {\n"
        "  |                                 ----------- y: float[B] comes from here\n"
        "3 |     loss = mean((net(x) - y) ** 2)\n"
        "  |                  ^^^^^^   ^ float[B]\n"
        "  |                  float[B, 1]\n"
        "  = note: broadcasting would silently make float[B, B]\n"
        "  = help: net(x).squeeze(1)\n");
}

TEST_CASE("of a long line the part around the mark is shown") {
  std::string text = "const a = ";
  for (int i = 0; i < 1000; ++i) text += "1 + ";
  const File file(text + "wrong" + std::string(500, 'z') + "\n");
  const std::string shown =
      render_human(diag::single_quotes(file["wrong"]).label(file["const"], "of this"), file.sources);
  CHECK(shown.size() < 700);
  CHECK(shown.find(" --> train.ltr:1:4011\n") != std::string::npos);
  const size_t line = shown.find("1 | \u2026") + 4, marks = shown.find("  | -", line) + 4;
  // `…` is three bytes and one character.
  CHECK(shown.find("wrong") - line - 2 == shown.find("^^^^^") - marks);
  CHECK(shown.find("z\u2026\n") != std::string::npos);
}

TEST_CASE("three labels on a line hang below each other") {
  const File file("aa bb cc\n");
  const Diagnostic diagnostic =
      diag::single_quotes(file["cc"]).label(file["aa"], "one").label(file["bb"], "two").label(file["cc"], "three");
  CHECK(render_human(diagnostic, file.sources) ==
        "error[E0108]: a string is written in double quotes\n"
        " --> train.ltr:1:7\n"
        "  |\n"
        "1 | aa bb cc\n"
        "  | -- -- ^^ three\n"
        "  | |  two\n"
        "  | one\n");
}

TEST_CASE("a place at the end, tabs and wide lines are marked where they are") {
  const File file("ltr 1\n\tx = größe +\n");
  const Span end = {file.id, file["+"].end, file["+"].end};
  CHECK(render_human(diag::single_quotes(end), file.sources) ==
        "error[E0108]: a string is written in double quotes\n"
        " --> train.ltr:2:13\n"
        "  |\n"
        "2 |     x = größe +\n"
        "  |                ^\n");
}

TEST_CASE("of several lines the first is marked") {
  const File file("f(\n  1)\n");
  CHECK(render_human(diag::single_quotes({file.id, 0, 7}), file.sources) ==
        "error[E0108]: a string is written in double quotes\n"
        " --> train.ltr:1:1\n"
        "  |\n"
        "1 | f(\n"
        "  | ^^\n");
}

TEST_CASE("a lone fix is told when there is no help") {
  const File file("ltr 1 'a'\n");
  const std::string text = render_human(diag::single_quotes(file["'a'"]).fix(file["'a'"], "\"a\""), file.sources);
  CHECK(text.find("  = help: write `\"a\"`\n") != std::string::npos);
}

TEST_CASE("labels in other files have their own place") {
  File file("import \"b\"\n", "a.ltr");
  const source::SourceId other = file.sources.add("b.ltr", "\n\nfn f()\n");
  const Diagnostic diagnostic = diag::single_quotes(file["import"]).label({other, 2, 4}, "declared here");
  CHECK(render_human(diagnostic, file.sources) ==
        "error[E0108]: a string is written in double quotes\n"
        " --> a.ltr:1:1\n"
        "  |\n"
        "1 | import \"b\"\n"
        "  | ^^^^^^\n"
        " --> b.ltr:3:1\n"
        "  |\n"
        "3 | fn f()\n"
        "  | -- declared here\n");
}

TEST_CASE("without a place there is only the message") {
  const source::SourceManager sources;
  const Diagnostic diagnostic = diag::file_not_found({}, "x.ltr").help("did you mean y.ltr?");
  CHECK(render_human(diagnostic, sources) == "error[E0003]: no file x.ltr\n  = help: did you mean y.ltr?\n");
  CHECK(render_short(diagnostic, sources) == "error[E0003]: no file x.ltr\n");
}

TEST_CASE("colour is asked for") {
  const File file("ltr 1\n");
  CHECK(render_human(diag::single_quotes(file["1"]), file.sources).find('\x1b') == std::string::npos);
  CHECK(render_human(diag::single_quotes(file["1"]), file.sources, {.color = true}).find("\x1b[1;31merror[E0108]") ==
        0);
}

TEST_CASE("the short form is one line") {
  const File file("ltr 1\nx\n");
  CHECK(render_short(diag::single_quotes(file["x"]), file.sources) ==
        "train.ltr:2:1: error[E0108]: a string is written in double quotes\n");
}

TEST_CASE("JSON has all parts on one line") {
  const File file("größe = \"\\d\"\n");
  const Diagnostic diagnostic = diag::bad_escape(file["\\d"], "\\d")
                                    .label(file["="], "a \"quote\"")
                                    .note("one")
                                    .help("two")
                                    .help("three")
                                    .fix(file["\\d"], "\n\x01");
  CHECK(
      render_json(diagnostic, file.sources) ==
      R"({"code":"E0103","severity":"error","message":"unknown escape `\\d`","file":"train.ltr","line":1,"column":10,)"
      R"("end_line":1,"end_column":12,"labels":[{"file":"train.ltr","line":1,"column":7,"end_line":1,"end_column":8,)"
      R"("message":"a \"quote\""}],"notes":["one"],"help":"two\nthree",)"
      R"("fix":[{"file":"train.ltr","start":11,"end":13,"text":"\n\u0001"}]})"
      "\n");
  CHECK(render_json(diag::file_not_found({}, "x"), file.sources) ==
        R"({"code":"E0003","severity":"error","message":"no file x","file":null,"line":0,"column":0,)"
        R"("end_line":0,"end_column":0,"labels":[],"notes":[],"help":null,"fix":[]})"
        "\n");
}

}  // namespace ltr::diagnostics
