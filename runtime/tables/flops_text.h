#pragma once

// How FLOPs are said, by the compiler and by its programs.

#include <array>
#include <cstdio>
#include <string>

namespace ltr {

/// `28.9 MFLOP`
inline std::string flops_text(double flops) {
  constexpr std::array<const char*, 7> kUnits = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < kUnits.size(); ++unit) flops /= 1000;
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.4g %s", flops, kUnits[unit]);
  return text.data();
}

}  // namespace ltr
