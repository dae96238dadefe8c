#pragma once

// The way from an update to the kernels of element_kernels.h.

#include <c10/util/FunctionRef.h>

#include <array>

#include "runtime/optim/element_kernels.h"
#include "runtime/optim/rule.h"

namespace ltr::optim {

/// A part of one weight, with its gradient and states.
struct Elements {
  float* weight = nullptr;
  const float* grad = nullptr;
  std::array<float*, 3> state{};  ///< in the order of `state_names`; null for those with a shape of their own
  int64_t count = 0;
};

/// Whether weight `i`, or all of them, with gradient and states, is f32 in one piece on the CPU.
bool fits_kernel(const Update& update, size_t i);
bool fits_kernel(const Update& update);

/// Moves weight `i` by `kernel`, on all threads where it is large. False where it does not fit: then nothing was done, and
/// ATen's ops are to move it.
bool by_kernel(const Update& update, size_t i, c10::function_ref<void(const Elements&)> kernel);

}  // namespace ltr::optim
