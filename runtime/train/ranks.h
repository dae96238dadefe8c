#pragma once

// The processes that train together: whatever depends on their number goes through here. This version runs one.

#include <cstdint>
#include <span>
#include <vector>

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
  /// What each rank says, in their order.
  virtual std::vector<Str> texts(const Str& own) const = 0;
  /// On the first rank the outputs of all, in their order, without those of a rank that gives none; nothing elsewhere.
  virtual std::vector<Outputs> gather(const Outputs& own) const = 0;
  /// What the first rank says.
  Str of_first(const Str& own) const { return texts(own).front(); }
  /// The one rank that prints, logs and writes.
  bool is_first() const { return rank() == 0; }
};

/// A process by itself.
const Ranks& one_rank();

}  // namespace ltr
