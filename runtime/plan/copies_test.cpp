// Small values that outlive a run.

#include <ATen/ATen.h>

#include <doctest/doctest.h>

#include "runtime/plan/copies.h"

namespace ltr::plan {

TEST_CASE("a copy is overwritten by nobody while it, or a view of it, is held") {
  Copies copies;
  const at::Tensor value = at::zeros({2});
  const at::Tensor first = copies.of(3, value.fill_(1));
  at::Tensor view = copies.of(3, value.fill_(2)).select(0, 1);
  at::Tensor third = copies.of(3, value.fill_(3));
  CHECK(first[0].item<float>() == 1);
  CHECK(view.item<float>() == 2);
  CHECK(third[1].item<float>() == 3);

  const void* const memory = third.data_ptr();
  third.reset();
  CHECK(copies.of(3, value.fill_(4)).data_ptr() == memory);
  CHECK(copies.of(4, value).data_ptr() != memory);
  CHECK(view.item<float>() == 2);
}

TEST_CASE("many or large copies, and those of what lies across memory, have memory of their own") {
  Copies copies;
  std::vector<at::Tensor> held;
  for (int64_t i = 0; i < 100; ++i) held.push_back(copies.of(0, at::full({}, i)));
  for (int64_t i = 0; i < 100; ++i) CHECK(held[size_t(i)].item<int64_t>() == i);
  const at::Tensor large = at::arange(1000);
  CHECK(copies.of(1, large).equal(large));
  const at::Tensor across = at::arange(6).reshape({2, 3}).t();
  CHECK(copies.of(2, across).equal(across));
}

}  // namespace ltr::plan
