#include "runtime/tensor/precision.h"

#include <doctest/doctest.h>

#include "runtime/api/error.h"

namespace ltr {

TEST_CASE("a precision that the CPU has not is refused, with what it has and how to say it") {
  const auto refusal = [](const Str& name) {
    try {
      set_precision(name);
      return Str();
    } catch (const Error& error) {
      return error.code + " " + error.message + " | " + error.help;
    }
  };
  CHECK(refusal("f16") ==
        "R2008 precision f16 needs a GPU, and this run computes on the CPU | f64, f32, bf16 and bf16_pure are there on "
        "a CPU; bf16 is nearest: --set topology.precision=bf16");
  CHECK(refusal("tf32").ends_with("f32 is nearest: --set topology.precision=f32"));
  CHECK(
      refusal("f8") ==
      "R2008 no precision f8 | topology.precision is f64, f32, tf32, bf16, f16 or bf16_pure; tf32 and f16 need a GPU");
  CHECK(refusal("f32").empty());
}

}  // namespace ltr
