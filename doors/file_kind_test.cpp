#include "doors/file_kind.h"

#include <doctest/doctest.h>

namespace ltr::doors {

TEST_CASE("files that are no text are known by their first bytes") {
  CHECK(!kind_of(""));
  CHECK(!kind_of(std::string_view("\x1F\x8B\0", 3)));
  CHECK(!kind_of("PAR,b\n1,2\n"));
  CHECK(
      !kind_of("\xEF\xBB\xBF"
               "a,b\n"));
  CHECK(kind_of("PAR1\x15\x04")->source == "parquet");
  CHECK(kind_of("ARROW1\0\0")->source == "arrow");
  CHECK(kind_of("SQLite format 3")->source == "sqlite");
  CHECK(kind_of("PK\x03\x04 and more")->source.empty());
  CHECK(kind_of("\xFF\xFE"
                "a")
            ->what.starts_with("text in UTF-16"));
  CHECK(kind_of(std::string_view("a\0b", 3))->what == "no text");
}

}  // namespace ltr::doors
