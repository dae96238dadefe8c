#pragma once

#include <string>

namespace ltr::training_logic {

/// The rows of `gradients.def` as questions.
bool stops_gradient(const std::string& function);
bool is_view(const std::string& function);
bool draws(const std::string& function);
/// Whether `loss` is wrong behind `activation`.
bool doubles(const std::string& loss, const std::string& activation);

}  // namespace ltr::training_logic
