#pragma once

// The generator behind random.h, for ops.

#include <ATen/core/Generator.h>

namespace ltr {

/// This thread's generator, at the place where the last draw left it.
const at::Generator& generator();

}  // namespace ltr
