#include <doctest/doctest.h>

#include "dsl/diagnostics/explain.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::diagnostics {

TEST_CASE("placeholders are filled in order") {
  CHECK(fill("{} and {}", {"a", 3}) == "a and 3");
  CHECK(fill("{x} {", {}) == "{x} {");
  CHECK(count_placeholders("a {} b {}{}") == 3);
}

TEST_CASE("a constructor fills its row") {
  const Diagnostic diagnostic = diag::unexpected_token({{1}, 3, 4}, "a name", "`)`")
                                    .label({{1}, 0, 1}, "{} is here", "it")
                                    .note("seen {} times", 3)
                                    .help("try again")
                                    .fix({{1}, 3, 4}, "x");
  CHECK(diagnostic.code == Code::E0201);
  CHECK(diagnostic.severity == Severity::Error);
  CHECK(diagnostic.message == "expected a name, found `)`");
  CHECK(diagnostic.labels.at(0).message == "it is here");
  CHECK(diagnostic.notes.at(0) == "seen 3 times");
  CHECK(diagnostic.helps.at(0) == "try again");
  CHECK(diagnostic.fixes.at(0).replacement == "x");
}

TEST_CASE("codes are found by their text") {
  CHECK(find_code("E0201") == Code::E0201);
  CHECK_FALSE(find_code("E9999").has_value());
  for (const CodeInfo& row : all_codes()) CHECK(find_code(row.text) == row.code);
}

TEST_CASE("the letter of a code is its severity") {
  for (const CodeInfo& row : all_codes()) {
    CAPTURE(row.text);
    CHECK((row.text.front() == 'W') == (row.severity == Severity::Warning));
    CHECK(row.text.size() == 5);
  }
}

TEST_CASE("files and syntax are explained") {
  for (const CodeInfo& row : all_codes()) {
    if (row.text.substr(0, 3) > "E02") continue;
    CAPTURE(row.text);
    const auto page = explain(row.text);
    REQUIRE(page.has_value());
    CHECK(page->find("## Wrong") != std::string_view::npos);
    CHECK(page->find("## Right") != std::string_view::npos);
  }
  CHECK_FALSE(explain("E9999").has_value());
}

TEST_CASE("the sink sorts, drops repetitions and counts") {
  Sink sink;
  CHECK_FALSE(sink.has_errors());
  sink.report(diag::single_quotes({{2}, 0, 1}));
  sink.report(diag::single_quotes({{1}, 9, 10}));
  sink.report(diag::single_quotes({{1}, 4, 5}));
  sink.report(diag::single_quotes({{1}, 9, 10}));
  CHECK(sink.error_count() == 3);
  const auto sorted = sink.sorted();
  REQUIRE(sorted.size() == 3);
  CHECK(sorted[0].span.begin == 4);
  CHECK(sorted[1].span.begin == 9);
  CHECK(sorted[2].span.source.index == 2);
}

TEST_CASE("the sink has a limit and says so") {
  Sink sink(2);
  for (uint32_t i = 0; i < 5; ++i) sink.report(diag::single_quotes({{1}, i, i + 1}));
  CHECK(sink.is_full());
  const auto sorted = sink.sorted();
  REQUIRE(sorted.size() == 3);
  CHECK(sorted.back().code == Code::E0010);
  Sink exact(2);
  for (uint32_t i = 0; i < 2; ++i) exact.report(diag::single_quotes({{1}, i, i + 1}));
  CHECK_FALSE(exact.is_full());
}

}  // namespace ltr::diagnostics
