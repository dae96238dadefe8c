#pragma once

// The processes that train together: whatever depends on their number goes through here. This version runs one.

#include <cstdint>
#include <span>

#include "ltr/api.h"

namespace ltr {

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t world() const = 0;
  /// Sums, least or largest numbers over all ranks, in place and element by element.
  virtual void sum(std::span<double> numbers) const = 0;
  virtual void least(std::span<double> numbers) const = 0;
  virtual void most(std::span<double> numbers) const = 0;
  /// A metric's state, of all ranks by the state's own rule: `cat` takes them in the order of the ranks, and their lengths
  /// may differ.
  virtual Tensor join(const Tensor& state, Reduce how) const = 0;
  /// The one rank that prints, logs and writes.
  bool is_first() const { return rank() == 0; }
};

/// A process by itself.
const Ranks& one_rank();

}  // namespace ltr
