#pragma once

// What an hparam may be drawn from in a sweep. Plain C++, since the compiler asks, too.

#include <string_view>

namespace ltr {

struct DrawRow {
  std::string_view name;
  std::string_view type;  ///< of the hparam
};

inline constexpr DrawRow kDrawRows[] = {
    {"uniform", "float"}, {"log_uniform", "float"}, {"normal", "float"}, {"int_uniform", "int"}};

}  // namespace ltr
