#pragma once

// Sound as a tensor.

#include <ATen/core/Tensor.h>

#include "doors/sound.h"

namespace ltr {

/// `float[channels, samples]`, which keeps the samples as they were read.
at::Tensor tensor_of_sound(doors::Sound sound);

}  // namespace ltr
