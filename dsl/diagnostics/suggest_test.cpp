#include "dsl/diagnostics/suggest.h"

#include <doctest/doctest.h>

namespace ltr::diagnostics {

TEST_CASE("edits are insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("widht", "width") == 1);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting", 3) == 3);
  CHECK(edit_distance("kitten", "sitting", 2) == 3);
  CHECK(edit_distance("abcdefgh", "zzzzzzzz", 2) == 3);
  CHECK(edit_distance("badcfe", "abcdef", 3) == 3);  // three swaps
}

TEST_CASE("the nearest candidate is suggested") {
  const std::vector<std::string> names = {"width", "height", "depth"};
  CHECK(suggest("widht", names) == "width");
  CHECK(suggest("heigth", names) == "height");
  CHECK_FALSE(suggest("colour", names).has_value());
  CHECK_FALSE(suggest("width", std::vector<std::string>{"width"}).has_value());
  CHECK_FALSE(suggest("width", std::vector<std::string>{}).has_value());
}

TEST_CASE("ties go to the alphabetically first") {
  CHECK(suggest("cat", std::vector<std::string>{"rat", "bat", "hat"}) == "bat");
  CHECK(suggest("cvs", std::vector<std::string>{"cos", "csv"}) == "csv");
}

TEST_CASE("a word of another library is the first of our names that is known there") {
  CHECK(suggest("size", std::vector<std::string>{"gamma", "every"}) == "every");
  CHECK(renamed("MultiStepLR", std::vector<std::string>{"step", "multistep"}) == "multistep");
  CHECK_FALSE(renamed("MultiStepLR", std::vector<std::string>{"step"}).has_value());
}

TEST_CASE("a method of another library is no advice for a name") {
  CHECK_FALSE(foreign_advice("t").has_value());
  CHECK(foreign_advice("t", WordUse::Attribute) == "write `.transpose(0, 1)`");
  CHECK(is_foreign_package("nn"));
}

TEST_CASE("what helps with a name may not help with an argument") {
  CHECK(foreign_advice("inplace", WordUse::Argument) == "tensors are values: leave it out");
  CHECK_FALSE(foreign_advice("weights", WordUse::Argument).has_value());
  CHECK_FALSE(foreign_advice("lr").has_value());
  CHECK(foreign_advice("lr", WordUse::Setting).has_value());
}

TEST_CASE("a difference of case is always found") {
  CHECK(suggest("linear", std::vector<std::string>{"Linear", "lines"}) == "Linear");
  CHECK(suggest("d", std::vector<std::string>{"D"}) == "D");
}

TEST_CASE("the same words in another order are always found") {
  CHECK(suggest("train_start_batch", std::vector<std::string>{"train_batch_end", "train_batch_start"}) ==
        "train_batch_start");
  CHECK_FALSE(suggest("a_b", std::vector<std::string>{"c_d"}).has_value());
}

TEST_CASE("a letter is not one edit from every other letter") {
  CHECK_FALSE(suggest("x", std::vector<std::string>{"y"}).has_value());
}

TEST_CASE("what is too long to be typed is near to nothing") {
  const std::string name(1000, 'n');
  CHECK_FALSE(suggest(name + "x", std::vector<std::string>{name}).has_value());
}

}  // namespace ltr::diagnostics
