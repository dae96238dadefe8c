#pragma once

#include <string_view>

namespace ltr::check {

/// What to write instead of a name that PyTorch or Lightning has and the language does not; null
/// for all others.
const char* foreign_advice(std::string_view name);

}  // namespace ltr::check
