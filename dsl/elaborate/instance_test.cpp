#include "dsl/elaborate/instance.h"

#include <doctest/doctest.h>

#include "runtime/tables/weight_name.h"

namespace ltr::elaborate {

TEST_CASE("weights: private members leave no segment in a name") {
  CHECK(weight_name("body.3.norm.weight") == "body.3.norm.weight");
  CHECK(weight_name("rnn._l.0.weight_ih") == "rnn.weight_ih_l0");
  CHECK(weight_name("_l.1.bias_hh") == "bias_hh_l1");
  CHECK(weight_name("a.rnn._l_reverse.1.weight_hh") == "a.rnn.weight_hh_l1_reverse");
  CHECK(weight_name("_scale") == "_scale");
  CHECK(weight_name("rnn._l.*.weight_ih") == "rnn.weight_ih_l*");
}

TEST_CASE("sizes: how many elements there are") {
  CHECK(count_elements({3, 4}) == 12);
  CHECK(count_elements({}) == 1);
  CHECK_FALSE(count_elements({3, std::nullopt}));
  CHECK_FALSE(count_elements({4'000'000'000'000'000'000, 4}));
}

TEST_CASE("weights: below a place") {
  CHECK(below("", "net") == "net");
  CHECK(below("net", "0") == "net.0");
  CHECK(is_below("net.body.0", ""));
  CHECK(is_below("net.body.0", "net.body"));
  CHECK(is_below("net", "net"));
  CHECK_FALSE(is_below("network.0", "net"));
  CHECK_FALSE(is_below("net", "net.body"));
}

TEST_CASE("weights: a tied one lies at all of its places, a frozen one and a buffer at none") {
  Tree tree;
  tree.weights.push_back({.path = "tok.weight"});
  tree.weights.push_back({.path = "head.bias"});
  tree.weights.push_back({.path = "head.count", .is_buffer = true});
  tree.weights.push_back({.path = "head.scale", .is_frozen = true});
  for (WeightId id = 0; id < tree.weights.size(); ++id) tree.places.emplace_back(tree.weights[id].path, id);
  tree.places.emplace_back("head.weight", 0);
  CHECK(tree.weights_at("head") == std::vector<WeightId>{0, 1});
  CHECK(tree.weights_at("tok") == std::vector<WeightId>{0});
  CHECK(tree.weights_at("") == std::vector<WeightId>{0, 1});
}

}  // namespace ltr::elaborate
