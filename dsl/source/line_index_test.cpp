#include "dsl/source/line_index.h"

#include <doctest/doctest.h>

#include <string>

namespace ltr::source {

namespace {

Position at(std::string_view text, uint32_t offset) { return LineIndex(text).position(text, offset); }

}  // namespace

TEST_CASE("lines and columns count from 1") {
  const std::string_view text = "ab\ncd\n";
  CHECK(at(text, 0).line == 1);
  CHECK(at(text, 0).column == 1);
  CHECK(at(text, 4).line == 2);
  CHECK(at(text, 4).column == 2);
  CHECK(at(text, 6).line == 3);
  CHECK(at(text, 600).line == 3);
  CHECK(LineIndex(text).line_count() == 3);
  CHECK(LineIndex("").line_count() == 1);
}

TEST_CASE("columns are characters and not bytes") {
  const std::string_view text = "größe = 3";
  CHECK(at(text, 8).column == 7);
  CHECK(count_characters("größe") == 5);
  CHECK(count_characters("größe größe größe\U0001F600größe") == 23);
  CHECK(count_characters("\u2265\U0001F600") == 2);
}

TEST_CASE("columns of a long line") {
  std::string text = "\xef\xbb\xbf";
  for (int i = 0; i < 3000; ++i) text += "größe ";
  text += "\n" + text;
  const LineIndex lines(text);
  for (const uint32_t offset : {3U, 1023U, 1024U, 1025U, 9000U, 20999U, uint32_t(text.size())}) {
    const Position found = lines.position(text, offset);
    const uint32_t begin = lines.begin_of(found.line);
    const uint32_t mark = found.line == 1 ? 1 : 0;
    CHECK(found.column == count_characters(std::string_view(text).substr(begin, offset - begin)) - mark + 1);
  }
}

TEST_CASE("a line has no line end and no byte-order mark") {
  const std::string_view text = "\xef\xbb\xbfltr 1\r\nx\r\n";
  const LineIndex lines(text);
  CHECK(lines.line_text(text, 1) == "ltr 1");
  CHECK(lines.line_text(text, 2) == "x");
  CHECK(lines.line_text(text, 3).empty());
  CHECK(lines.line_text(text, 4).empty());
  CHECK(lines.position(text, 3).column == 1);
}

}  // namespace ltr::source
