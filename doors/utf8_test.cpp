#include "doors/utf8.h"

#include <doctest/doctest.h>

namespace ltr::doors {

TEST_CASE("what is no UTF-8 is found, wherever it is") {
  CHECK(!first_not_utf8(""));
  CHECK(!first_not_utf8("plain text of more than eight bytes"));
  CHECK(!first_not_utf8("größer ≥ 😀, and a mark: \xEF\xBB\xBF"));
  for (size_t before = 0; before < 20; ++before) {
    for (const char* bad :
         {"\x80", "\xF6", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x89"}) {
      CHECK(first_not_utf8(std::string(before, 'a') + bad) == before);
      CHECK(first_not_utf8(std::string(before, 'a') + bad + "a long end, of ASCII") == before);
    }
  }
}

TEST_CASE("it is told by its byte, and its place in characters") {
  CHECK(utf8_fault("größe").empty());
  CHECK(utf8_fault("gr\xC3\xB6\xDF"
                   "e")
            .starts_with("the byte 0xDF at character 4 is no UTF-8 ("));
}

TEST_CASE("and by its line") {
  CHECK(!line_not_utf8("a\nb\n"));
  const auto first = line_not_utf8("\xF6");
  CHECK(first->line == 1);
  CHECK(first->fault.starts_with("the byte 0xF6 at character 1 "));
  const auto third = line_not_utf8("a\n\nß\xF6\nb");
  CHECK(third->line == 3);
  CHECK(third->fault.starts_with("the byte 0xF6 at character 2 "));
}

}  // namespace ltr::doors
