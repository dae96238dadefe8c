#pragma once

// Permutations by arithmetic: any element of any permutation of n in constant time and no memory.

#include <cstdint>

namespace ltr {

/// Mixes 64 bits so that every input bit changes every output bit (the finalizer of splitmix64).
constexpr uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

/// A permutation of [0, n) chosen by `key`: a Feistel network over Z_a x Z_b with a * b just above n
/// (Bellare et al. 2009, FE2), walked until the value falls below n.
class Permutation {
 public:
  Permutation(int64_t n, uint64_t key);
  /// Where element `index` of the permuted order comes from. A bijection of [0, n).
  int64_t operator()(int64_t index) const;

 private:
  uint64_t n_;
  uint64_t a_;
  uint64_t b_;
  uint64_t key_;
};

}  // namespace ltr
