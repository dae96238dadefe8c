#pragma once

// The sum of gradients that ranks divide: of each unit every rank gets its chunk, as soon as all of the unit's gradients are
// there, while the pass goes on. Units leave in one order, the same on all ranks.

#include <chrono>
#include <deque>

#include "runtime/train/division.h"

namespace ltr {

class DividedSum final : public GradientSum {
 public:
  /// `units` of `division`, in the order in which their gradients come.
  DividedSum(Division& division, std::vector<size_t> units);
  ~DividedSum() override;
  void during(const std::function<void()>& pass) override;
  void drop(const at::Tensor& weight) const override;
  Times times() const override { return times_; }

 private:
  struct OfUnit {
    size_t number;  ///< in the division
    DividedUnit* divided;
    int64_t missing = 0;  ///< gradients that are still to come
  };
  struct Leaving {
    OfUnit* one;
    at::Tensor sent;
    at::Tensor chunk;
    std::unique_ptr<PendingTensors> pending;
  };

  void begin();
  void came(size_t unit);
  /// All units whose turn it is and that miss nothing.
  void send_complete();
  void send(OfUnit& one);
  /// Until at most so many are on their way.
  void wait_until(size_t most);
  void take(Leaving& done);

  Division& division_;
  std::vector<OfUnit> units_;
  std::deque<Leaving> leaving_;
  size_t next_ = 0;  ///< whose turn it is to leave
  bool is_summing_ = false;
  Times times_;
  std::chrono::steady_clock::time_point first_left_;
};

}  // namespace ltr
