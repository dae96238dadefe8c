#pragma once

// The way from an update to the kernels of element_kernels.h.

#include <c10/util/FunctionRef.h>

#include "runtime/optim/element_kernels.h"
#include "runtime/optim/rule.h"

namespace ltr::optim {

/// Whether there are kernels here, and weight `i`, or all of them, with gradient and states, is f32 in one piece on the CPU.
bool fits_kernel(const Update& update, size_t i);
bool fits_kernel(const Update& update);

/// Moves weight `i` by `move`, on all threads where it is large. False where it does not fit: then nothing was done, and
/// ATen's ops are to move it.
bool by_kernel(const Update& update, size_t i, c10::function_ref<void(const ElementKernels&, const Elements&)> move);

}  // namespace ltr::optim
