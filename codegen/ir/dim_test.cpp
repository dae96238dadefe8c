#include "codegen/ir/dim.h"

#include <doctest/doctest.h>

namespace ltr::ir {
namespace {

std::string reread(const std::string& text) {
  DimStore dims;
  size_t position = 0;
  const std::optional<DimId> dim = read_dim(text, position, dims);
  if (!dim || position != text.size()) return "no dim";
  const std::string written = to_text(*dim, dims);
  size_t again = 0;
  CHECK(read_dim(written, again, dims) == dim);
  return written;
}

}  // namespace

TEST_CASE("dims read back from their text") {
  for (const char* text : {"0",
                           "-3",
                           "B",
                           "data.words.text",
                           "?",
                           "...",
                           "2 * B * D",
                           "B**2 - D + 1",
                           "-B + 3",
                           "-2 * B",
                           "(D / heads)",
                           "(-B % 4)",
                           "floor((H - kernel) / 2) + 1",
                           "ceil(2 * S / (2 * k))",
                           "min(B - 1, max(3, D))",
                           "3 * (B + 1)**2",
                           "a - (b - c)",
                           "a + (-b)",
                           "(-3) * B",
                           "(a * b)**2",
                           "a * (b * c)",
                           "((a + b) / c)"}) {
    CHECK(reread(text) == text);
  }
  CHECK(reread("((a))*b+ 2") == "a * b + 2");
  CHECK(reread("(a + b / c)") == "((a + b) / c)");
}

TEST_CASE("what is no dim is refused") {
  for (const char* text : {"", "+", "a +", "(a", "floor(a)", "floor(a / )", "floor(a / 2 * b)", "min(a)", "a**b", "a**",
                           "-", "((a / b)", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(reread(text) == "no dim");
  }
  CHECK(reread(std::string(100'000, '(') + "a") == "no dim");
  std::string sum = "1";
  for (int i = 0; i < 100'000; ++i) sum += "+1";
  CHECK(reread(sum) == "no dim");
}

TEST_CASE("equal dims of one module have one id") {
  DimStore dims;
  const DimId width = dims.name("D");
  const DimId twice = dims.binary(Dim::Kind::Product, dims.number(2), width);
  CHECK(twice == dims.binary(Dim::Kind::Product, dims.number(2), dims.name("D")));
  CHECK(twice != dims.binary(Dim::Kind::Product, width, dims.number(2)));
  CHECK(dims.negative(dims.number(3)) == dims.number(-3));
  CHECK(dims.constant(dims.number(7)) == 7);
  CHECK_FALSE(dims.constant(twice).has_value());
  CHECK_FALSE(dims.constant(DimId{}).has_value());
}

}  // namespace ltr::ir
