// Who made a number that is not finite is an op that computes, not one that finds memory.
#include <cmath>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/train/inspector.h"

namespace ltr {

TEST_CASE("what lies in memory that was only found is nobody's result") {
  const at::Tensor bad = at::full({4}, NAN);
  const at::Tensor none = at::zeros({4});
  const Inspector inspector;
  // Memory that held a nan before, as an op finds it.
  for (int i = 0; i < 64; ++i) {
    at::Tensor used = at::empty({1 << 12});
    for (int64_t k = 0; k < used.numel(); ++k) used.mutable_data_ptr<float>()[k] = NAN;
  }
  const Error error("R4001", "the loss is nan");
  CHECK(inspector.explained(error).help.find("empty") == Str::npos);
  const at::Tensor made = at::log(at::sub(none, 1.0));
  CHECK(inspector.explained(error).help.starts_with("aten::log makes the first nan here, of f32[4] from -1 to -1"));
}

TEST_CASE("an op without operands has none to show") {
  const Inspector inspector;
  const at::Tensor made = at::full({4}, NAN);
  const Str help = inspector.explained(Error("R4001", "")).help;
  CHECK(help.find("makes the first nan here") != Str::npos);
  CHECK_FALSE(help.ends_with(", of "));
}

}  // namespace ltr
