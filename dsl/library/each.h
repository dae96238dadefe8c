#pragma once

// Losses of each sample or element: the library has a function in Ltr for them beside the loss.

#include <string>
#include <string_view>

#include "dsl/library/library.h"

namespace ltr::library {

/// The name of that function: `_mse_each` of `mse`.
std::string each_of(std::string_view loss);
/// The loss that a function of the library written in Ltr is, or stands beside: of `_mse_each` and `tversky`; None for all others.
Id written_loss(std::string_view function);

}  // namespace ltr::library
