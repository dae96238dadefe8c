#include "dsl/source/source_manager.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace ltr::source {

namespace {

std::filesystem::path write_file(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("ltr_source_manager_test_" + name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

TEST_CASE("sources have ids from 1 and keep their text") {
  SourceManager sources;
  const SourceId first = sources.add("a.ltr", "ltr 1\nconst a = 3\n");
  const SourceId second = sources.add("b.ltr", "x");
  CHECK(first.index == 1);
  CHECK(second.index == 2);
  CHECK(sources.path(first) == "a.ltr");
  CHECK(sources.text(Span{first, 6, 11}) == "const");
  CHECK(sources.line_text(first, 2) == "const a = 3");
  const Range range = sources.position({first, 6, 11});
  CHECK(range.begin.line == 2);
  CHECK(range.end.column == 6);
}

TEST_CASE("an unknown source is empty") {
  const SourceManager sources;
  CHECK(sources.text(SourceId{}).empty());
  CHECK(sources.path(SourceId{7}).empty());
  CHECK(sources.text(Span{}).empty());
  CHECK_FALSE(sources.contains(SourceId{1}));
}

TEST_CASE("what prevents loading is told apart") {
  SourceManager sources;
  const auto folder = std::filesystem::temp_directory_path();
  CHECK(sources.load(folder / "ltr_no_such_file.ltr").problem == LoadProblem::NotFound);
  CHECK(sources.load(folder).problem == LoadProblem::Directory);
  const LoadResult bad = sources.load(write_file("bad.ltr", "ltr 1\n\xff"));
  CHECK(bad.problem == LoadProblem::NotUtf8);
  CHECK(bad.bad_byte == 6);
  CHECK(sources.load(write_file("wide.ltr", std::string("\xff\xfel\0t\0r\0", 8))).problem == LoadProblem::Utf16);
  const LoadResult wide = sources.load(write_file("wide.ltr", std::string("\0l\0t\0r\0 ", 8)));
  CHECK(wide.problem == LoadProblem::Utf16);
  CHECK(wide.bad_byte == 0);
  CHECK(sources.load(write_file("old.ltr", "ltr 1\rconst a = 1\r")).problem == LoadProblem::CarriageReturns);
  CHECK(sources.load(write_file("mixed.ltr", "ltr 1\n# a\rb\n")).problem == LoadProblem::None);
  const LoadResult large = sources.load(write_file("large.ltr", std::string(kMaxSourceBytes + 1, ' ')));
  CHECK(large.problem == LoadProblem::TooLarge);
  CHECK(large.size_bytes == kMaxSourceBytes + 1);
  CHECK(sources.load(write_file("most.ltr", std::string(kMaxSourceBytes, ' '))).problem == LoadProblem::None);
  CHECK(sources.count() == 6);  // Of all but those that are not there or too large something can be shown.
}

TEST_CASE("UTF-8 is checked to the letter") {
  CHECK_FALSE(find_invalid_utf8("plain").has_value());
  CHECK_FALSE(find_invalid_utf8("gr\u00f6\u00dfe \u2265 \U0001F600").has_value());
  CHECK(find_invalid_utf8("a\x80") == 1);
  CHECK(find_invalid_utf8("\xc0\x80") == 0);          // overlong
  CHECK(find_invalid_utf8("\xe0\x80\x80") == 0);      // overlong
  CHECK(find_invalid_utf8("\xed\xa0\x80") == 0);      // a surrogate
  CHECK(find_invalid_utf8("\xf4\x90\x80\x80") == 0);  // past U+10FFFF
  CHECK(find_invalid_utf8("ab\xe2\x89") == 2);        // cut off
}

}  // namespace ltr::source
