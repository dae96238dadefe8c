#include "runtime/data/permutation.h"

#include <cmath>

namespace ltr {

namespace {

constexpr int kRounds = 8;

/// A value below `limit`, from the high bits of a product: no division.
uint64_t below(uint64_t bits, uint64_t limit) {
  __extension__ using Wide = unsigned __int128;
  return uint64_t((static_cast<Wide>(bits) * limit) >> 64);
}

}  // namespace

Permutation::Permutation(int64_t n, uint64_t key) : n_(uint64_t(n)), a_(1), b_(1), key_(mix(key)) {
  if (n_ < 2) return;
  a_ = uint64_t(std::sqrt(double(n_)));
  if (a_ < 2) a_ = 2;  // with 1 there would only be rotations
  b_ = (n_ + a_ - 1) / a_;
}

int64_t Permutation::operator()(int64_t index) const {
  auto value = uint64_t(index);
  if (n_ < 2) return index;
  do {
    uint64_t left = value % a_;
    uint64_t right = value / a_;
    for (uint64_t round = 0; round < kRounds; ++round) {
      left += below(mix(key_ ^ (right * 0x9E3779B97F4A7C15u + 2 * round)), a_);
      if (left >= a_) left -= a_;
      right += below(mix(key_ ^ (left * 0x9E3779B97F4A7C15u + 2 * round + 1)), b_);
      if (right >= b_) right -= b_;
    }
    value = right * a_ + left;
  } while (value >= n_);
  return int64_t(value);
}

}  // namespace ltr
