#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "runtime/tensor/handle.h"

namespace ltr {

TEST_CASE("appending gives what cat gives, and moves what is kept a logarithmic number of times") {
  Tensor kept = give(at::zeros({0, 3}));
  at::Tensor wanted = at::zeros({0, 3});
  int moves = 0;
  int64_t copied = 0;
  for (int i = 0; i < 5000; i++) {
    const at::Tensor more = at::full({1 + i % 3, 3}, double(i));
    const void* place = In(kept)->const_data_ptr();
    const int64_t rows = In(kept)->size(0);
    kept = append(kept, give(more));
    if (In(kept)->const_data_ptr() != place) {
      moves++;
      copied += rows;
    }
    if (i < 100) {
      wanted = at::cat({wanted, more});
      REQUIRE(at::equal(*In(kept), wanted));
    }
  }
  CHECK(In(kept)->size(0) == 9999);
  CHECK(at::equal(In(kept)->narrow(0, 0, wanted.size(0)), wanted));
  CHECK(moves < 20);
  CHECK(copied < 2 * 9999);
}

TEST_CASE("what was kept stays as it was, whatever is appended to it") {
  const Tensor start = append(give(at::zeros({0})), give(at::ones({2})));
  const Tensor one = append(start, give(at::full({1}, 5.0)));
  const Tensor other = append(start, give(at::full({3}, 7.0)));
  CHECK(at::equal(*In(start), at::ones({2})));
  CHECK(at::equal(*In(one), at::tensor({1.0F, 1.0F, 5.0F})));
  CHECK(at::equal(*In(other), at::tensor({1.0F, 1.0F, 7.0F, 7.0F, 7.0F})));
  // A part of it does not begin where the memory does.
  const Tensor tail = append(give(In(other)->narrow(0, 2, 1)), give(at::zeros({1})));
  CHECK(at::equal(*In(tail), at::tensor({7.0F, 0.0F})));
  CHECK(at::equal(*In(other), at::tensor({1.0F, 1.0F, 7.0F, 7.0F, 7.0F})));
  // The memory of what is kept goes with its last reader.
  CHECK(at::equal(*In(append(one, one)), at::tensor({1.0F, 1.0F, 5.0F, 1.0F, 1.0F, 5.0F})));
}

TEST_CASE("elements of another type and gradients are cat's") {
  const Tensor mixed = append(give(at::ones({1}, at::kLong)), give(at::full({1}, 0.5)));
  CHECK(at::equal(*In(mixed), at::tensor({1.0F, 0.5F})));
  const at::Tensor weight = at::ones({2}).requires_grad_();
  const Tensor joined = append(give(at::zeros({1})), give(at::Tensor(weight)));
  In(joined)->sum().backward();
  CHECK(at::equal(weight.grad(), at::ones({2})));
  CHECK_THROWS_AS(append(give(at::ones({1, 2})), give(at::ones({1, 3}))), Error);
}

}  // namespace ltr
