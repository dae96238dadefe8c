#pragma once

// Of weights that ranks divide, the units that are whole at the moment: the one that is read, and the next one, which comes
// while the present one is computed with. Which one that is, the step before has shown.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/train/ranks.h"
#include "runtime/train/unit.h"

namespace ltr {

class Optimizer;

/// A unit, and this rank's chunk of it.
struct DividedUnit {
  Unit unit;
  const Optimizer* optimizer;  ///< null: none moves it
  at::Tensor whole;            ///< the row; undefined while it is not whole here
  at::Tensor chunk;
  int64_t moves = 0;  ///< updates so far
};
using DividedUnits = std::vector<std::unique_ptr<DividedUnit>>;

class WholeUnits {
 public:
  WholeUnits(const Ranks& holders, DividedUnits& units) : holders_(holders), units_(units), coming_(units.size()) {}

  /// The row of a unit, gathered if it is not there: all ranks read the same units in the same order.
  const at::Tensor& row(size_t unit);
  /// It is not needed until it is read again. Who still holds its row, or a part of it, keeps that alive.
  void release(size_t unit);
  /// Weights moved: what was gathered is old.
  void forget();
  /// The unit in whose row `tensor` lies, `units.size()` if in none.
  size_t find(const at::Tensor& tensor) const;

 private:
  static constexpr size_t kNone = ~size_t(0);
  struct Coming {
    at::Tensor row;
    std::unique_ptr<PendingTensors> pending;
  };
  void begin(size_t unit);
  /// The unit that came next when these two had been read.
  size_t next() const;

  const Ranks& holders_;
  DividedUnits& units_;
  std::vector<Coming> coming_;
  size_t before_ = kNone, now_ = kNone;
  std::map<std::pair<size_t, size_t>, size_t> next_;  ///< after these two
};

}  // namespace ltr
