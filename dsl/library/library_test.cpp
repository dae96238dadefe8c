#include "dsl/library/library.h"

#include <doctest/doctest.h>

namespace ltr::library {

TEST_CASE("a function is found by its name in its name space") {
  CHECK(find(Space::Values, "split") == Id::Split);
  CHECK(find(Space::Streams, "split") == Id::SplitStream);
  CHECK(find(Space::Settings, "linear") == Id::LinearSchedule);
  CHECK(find(Space::Weights, "norm") == Id::NormWeights);
  CHECK(find(Space::Streams, "softmax") == Id::None);
  CHECK(find(Space::Values, "") == Id::None);
  CHECK(info(Id::None).name.empty());
}

TEST_CASE("every function is found under its own name") {
#define LTR_ROW(id, name, space, rule, ...) CHECK(find(Space::space, #name) == Id::id);
#include "dsl/library/functions.def"
}

TEST_CASE("a loss refuses the activations that it applies itself") {
  CHECK(info(Id::CrossEntropy).refuses_behind(Id::Sigmoid));
  CHECK(!info(Id::Focal).refuses_behind(Id::Sigmoid));
  CHECK(!info(Id::Mse).refuses_behind(Id::Softmax));
  CHECK(!info(Id::CrossEntropy).refuses_behind(Id::None));
}

}  // namespace ltr::library
