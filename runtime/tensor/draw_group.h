#pragma once

// Random words as random numbers, a group of 64 elements at a time: what a tensor is filled with, whoever fills it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/tensor/philox.h"

namespace ltr {

/// Words of 32 bits that an element of `T` takes.
template <class T>
inline constexpr size_t kWordsOf = std::is_same_v<T, double> || std::is_same_v<T, int64_t> ? 2 : 1;

inline double unit_number(uint32_t high, uint32_t low) {
  return double((uint64_t(high) << 32 | low) >> 11) * 0x1.0p-53;
}

/// `n` elements of a group, uniform in [low, high).
template <class T>
void uniform_group(const uint32_t* words, int64_t n, double low, double high, T* out) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < n; i++)
      out[i] = low + (high - low) * unit_number(words[i], words[kPhiloxGroup + size_t(i)]);
  } else {
    const auto from = float(low), range = float(high - low);
    const float below = std::nextafter(float(high), float(low));
    // What rounds up to `high` is not in the range.
    for (int64_t i = 0; i < n; i++)
      out[i] = T(std::min(from + range * (float(words[i] >> 8) * 0x1.0p-24f), low < high ? below : from));
  }
}

/// The two normal numbers of two uniform ones; the first is never 0. Box and Muller 1958.
template <class Real>
std::pair<Real, Real> box_muller(Real first, Real second) {
  const Real radius = std::sqrt(Real(-2) * std::log(first));
  const Real angle = Real(2 * std::numbers::pi) * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Likewise normal. Element i of the first half of a group makes a pair with element i of the second.
template <class T>
void normal_group(const uint32_t* words, int64_t n, double mean, double std, T* out) {
  constexpr int64_t kHalf = kPhiloxGroup / 2;
  for (int64_t i = 0; i < std::min(n, kHalf); i++) {
    double first = 0, second = 0;
    if constexpr (std::is_same_v<T, double>) {
      std::tie(first, second) = box_muller(1 - unit_number(words[i], words[int64_t(kPhiloxGroup) + i]),
                                           unit_number(words[kHalf + i], words[int64_t(kPhiloxGroup) + kHalf + i]));
    } else {
      std::tie(first, second) =
          box_muller((float(words[i]) + 0.5F) * 0x1.0p-32F, float(words[kHalf + i] >> 8) * 0x1.0p-24F);
    }
    out[i] = T(mean + std * first);
    if (i + kHalf < n) out[i + kHalf] = T(mean + std * second);
  }
}

inline uint64_t whole_bits(const uint32_t* words, int64_t i) {
  return uint64_t(words[int64_t(kPhiloxGroup) + i]) << 32 | words[i];
}
/// Below `range`, by 64 random bits: the high half of the product, as even as these allow (Lemire 2019).
inline uint64_t below(uint64_t range, uint64_t bits) {
  return uint64_t((static_cast<unsigned __int128>(bits) * range) >> 64);
}
/// Likewise whole numbers in [low, high).
inline void whole_group(const uint32_t* words, int64_t n, int64_t low, int64_t high, int64_t* out) {
  const auto range = uint64_t(high) - uint64_t(low);
  for (int64_t i = 0; i < n; i++) out[i] = int64_t(uint64_t(low) + below(range, whole_bits(words, i)));
}

/// Puts the numbers 0 … n - 1 into a random order, by 64 bits for each. Fisher and Yates, from the end.
inline void permute(int64_t n, const int64_t* random, int64_t* order) {
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n - 1; i > 0; i--) std::swap(order[i], order[below(uint64_t(i + 1), uint64_t(random[i]))]);
}

}  // namespace ltr
