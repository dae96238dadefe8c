#include "dsl/elaborate/host_value.h"

#include <doctest/doctest.h>

#include <limits>

namespace ltr::elaborate {

namespace {

Value list_of(std::vector<Value> items) {
  Value list;
  list.kind = Value::Kind::List;
  list.items = std::move(items);
  return list;
}

Value tensor_of(std::vector<Size> dims) {
  Value tensor;
  tensor.kind = Value::Kind::Tensor;
  tensor.dims = std::move(dims);
  return tensor;
}

}  // namespace

TEST_CASE("host values: what is not known equals nothing, and is not different either") {
  CHECK(equal(Value::of_int(2), Value::of_float(2)) == true);
  CHECK(equal(Value::none(), Value::of_int(2)) == false);
  CHECK(equal(Value::none(), Value::none()) == true);
  CHECK(equal(Value{}, Value::none()) == std::nullopt);
  CHECK(equal(list_of({Value::of_int(1), Value{}}), list_of({Value::of_int(1), Value::of_int(2)})) == std::nullopt);
  CHECK(equal(list_of({Value::of_int(1), Value{}}), list_of({Value::of_int(3), Value::of_int(2)})) == false);
}

TEST_CASE("host values: as many rounds as can be counted") {
  CHECK(count_between(Value::of_int(2), Value::of_int(5)) == 3);
  CHECK(count_between(Value::of_int(5), Value::of_int(2)) == 0);
  CHECK(count_between(Value::of_int(2), Value{}) == std::nullopt);
  CHECK(count_between(Value::of_int(std::numeric_limits<int64_t>::min()), Value::of_int(1)) == std::nullopt);
}

TEST_CASE("host values: dims that a tensor is given fill those that its type does not know") {
  Value made = tensor_of({std::nullopt, 3});
  take_dims(made, {list_of({Value::of_int(7), Value::of_int(9)}), Value::of_float(0.5)});
  CHECK(made.dims == std::vector<Size>{7, 3});
  Value computed = tensor_of({std::nullopt});
  take_dims(computed, {tensor_of({4}), list_of({Value::of_int(7)})});
  CHECK(computed.dims == std::vector<Size>{std::nullopt});
}

}  // namespace ltr::elaborate
