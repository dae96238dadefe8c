#include "dsl/elaborate/read_value.h"

#include <doctest/doctest.h>

namespace ltr::elaborate {

namespace {

check::Type list_of(check::Type element) {
  check::Type list = check::Type::of(check::Kind::List);
  list.fields = {{"", std::move(element)}};
  return list;
}

}  // namespace

TEST_CASE("a value of the command line is read by its type") {
  using check::Kind;
  using check::Type;
  CHECK(read_value(Type::of(Kind::Int), "12")->whole == 12);
  CHECK(!read_value(Type::of(Kind::Int), "1.5"));
  CHECK(!read_value(Type::of(Kind::Int), ""));
  CHECK(read_value(Type::of(Kind::Float), "1e-3")->real == 1e-3);
  CHECK(!read_value(Type::of(Kind::Float), "1 s"));
  CHECK(read_value(Type::of(Kind::Bool), "true")->whole == 1);
  CHECK(!read_value(Type::of(Kind::Bool), "yes"));
  CHECK(read_value(Type::of(Kind::Str), "a, b")->text == "a, b");
}

TEST_CASE("lists nest, and texts in them may have commas") {
  using check::Kind;
  using check::Type;
  const auto numbers = read_value(list_of(list_of(Type::of(Kind::Int))), "[[7], [8, 9], []]");
  REQUIRE(numbers);
  CHECK(numbers->items.size() == 3);
  CHECK(numbers->items[1].items[1].whole == 9);
  CHECK(read_value(list_of(Type::of(Kind::Int)), "[]")->items.empty());
  CHECK(!read_value(list_of(Type::of(Kind::Int)), "7"));
  const auto texts = read_value(list_of(Type::of(Kind::Str)), R"(["a, b", c])");
  REQUIRE(texts);
  REQUIRE(texts->items.size() == 2);
  CHECK(texts->items[0].text == "a, b");
  CHECK(texts->items[1].text == "c");
}

TEST_CASE("a number with a unit is of what its type measures") {
  using check::Kind;
  using check::Type;
  CHECK(read_value(Type::of(Kind::Duration), "2 min")->real == 120);
  CHECK(read_value(Type::of(Kind::Period), "3 epochs")->text == "epochs");
  CHECK(read_value(Type::of(Kind::Bytes), "4KiB")->real == 4096);
  CHECK(!read_value(Type::of(Kind::Duration), "3 epochs"));
  CHECK(!read_value(Type::of(Kind::Duration), "3"));
}

}  // namespace ltr::elaborate
