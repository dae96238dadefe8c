#include <doctest/doctest.h>

#include <string>

#include "runtime/tables/weight_pattern.h"

namespace ltr {

TEST_CASE("a pattern chooses names") {
  CHECK(matches("fc.bias", "fc.bias"));
  CHECK(!matches("fc.bias", "fc.bias_hh"));
  CHECK(!matches("bias", "fc.bias"));
  CHECK(matches("*.bias", "body.3.fc.bias"));
  CHECK(!matches("*.bias", "bias"));
  CHECK(matches("*bias*", "bias"));
  CHECK(matches("**", ""));
  CHECK(matches("", ""));
  CHECK(!matches("", "a"));
  CHECK(matches("body.?.weight", "body.3.weight"));
  CHECK(!matches("body.?.weight", "body.13.weight"));
  CHECK(matches("a*b*c", "abbxc"));
  CHECK(!matches("a*b*c", "acb"));
}

TEST_CASE("the number of a list that is not counted fits any number") {
  CHECK(matches("body.3.*", "body.*.weight"));
  CHECK(matches("body.12.weight", "body.*.weight"));
  CHECK(matches("body.??.weight", "body.*.weight"));
  CHECK(matches("body.*.weight", "body.*.weight"));
  CHECK(matches("rnn.weight_ih_l12", "rnn.weight_ih_l*"));
  CHECK(!matches("body.x.weight", "body.*.weight"));
  CHECK(!matches("body..weight", "body.*.weight"));
}

TEST_CASE("many stars cost no more than their number") {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  CHECK(!matches(pattern + "b", std::string(1000, 'a')));
}

}  // namespace ltr
