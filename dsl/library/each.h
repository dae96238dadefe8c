#pragma once

// Losses of each sample or element: the library has a function in Ltr for them beside the loss.

#include <string>
#include <string_view>

#include "dsl/library/library.h"

namespace ltr::library {

/// The name of that function: `_mse_each` of `mse`.
std::string each_of(std::string_view loss);
/// The loss that the function of this name stands beside; None for all others.
Id loss_of_each(std::string_view each);

}  // namespace ltr::library
