#pragma once

// Callbacks and loggers that a later version of the library has. E0329 of those who name them.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ltr::library {

inline constexpr std::string_view kLater[] = {"Wandb", "Comet", "Jsonl"};

constexpr bool is_of_later_version(std::string_view name) {
  return std::find(std::begin(kLater), std::end(kLater), name) != std::end(kLater);
}

}  // namespace ltr::library
