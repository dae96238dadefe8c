#pragma once

// The ranks of a run as processes that exchange over c10d: Gloo between CPUs, NCCL between GPUs.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>

#include "runtime/distributed/first_failure.h"
#include "runtime/distributed/store.h"
#include "runtime/train/ranks.h"

namespace ltr::distributed {

/// How long ranks wait for each other.
struct Patience {
  double join_s = 60;       ///< until all have come
  double exchange_s = 600;  ///< in an exchange: `topology.timeout`
};

class C10dRanks final : public Ranks {
 public:
  C10dRanks(const Place& place, Store store, const Patience& patience);
  ~C10dRanks() override;

  int64_t rank() const override { return place_.rank; }
  int64_t world() const override { return place_.world; }
  std::vector<Str> texts(const Str& own) const override;
  std::unique_ptr<PendingSum> begin_sum(std::vector<double> numbers) const override;
  void sum_tensor(const at::Tensor& tensor) const override;
  std::unique_ptr<PendingTensors> begin_scatter(const at::Tensor& part, const at::Tensor& whole) const override;
  std::unique_ptr<PendingTensors> begin_gather(const at::Tensor& whole, const at::Tensor& part) const override;
  std::unique_ptr<Ranks> among(const std::vector<int64_t>& members) const override;
  void take_from_first(const std::vector<at::Tensor>& tensors) const override;
  std::unique_ptr<GradientSum> sum_gradients(const std::vector<at::Tensor>& weights,
                                             const GradientTravel& travel) const override;
  void meet_on(Accelerator& accelerator) const override;
  void hurry() const override;
  bool is_hurried() const override;
  Option<int> failing(const Error& error) const override;

  /// Runs `body`, an exchange that errors call `what`: R1002 if another rank is lost in it, R1003 if it takes too long.
  template <class Body>
  auto exchange(const char* what, Body&& body) const -> decltype(body()) {
    turn_++;
    try {
      return body();
    } catch (...) {
      rethrow(what);
    }
  }
  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  bool is_one_machine() const { return place_.local_size == place_.world; }
  /// Called while something else than an exchange waits for other ranks, since `begin_ms`: R1002 if one has failed or is gone,
  /// R1003 if it takes too long.
  void check_others(const char* what, int64_t begin_ms) const;

 private:
  /// Throws the exception in flight: as another rank's where it came out of the exchange, as it is otherwise.
  [[noreturn]] void rethrow(const char* what) const;
  /// Another rank failed, or does not come: what to say of it unless it says more itself.
  Error lost(const char* what, std::string_view reason) const;
  /// Which ranks are not at this turn, a moment after this one gave up waiting.
  Str absent() const;
  Option<Failure> failed_first(double wait_s) const;

  Place place_;
  Patience patience_;
  Store store_;
  Store failures_;              ///< where ranks say that they failed: that of all, also of a group
  std::vector<int64_t> names_;  ///< of the ranks here, among all
  mutable c10::intrusive_ptr<c10d::ProcessGroup> group_;
  mutable Accelerator* accelerator_ = nullptr;  ///< whose tensors go between ranks, too
  mutable int64_t groups_ = 0;                  ///< made by `among`
  mutable int64_t turn_ = 0;                    ///< exchanges begun
  mutable int64_t hurried_ = 0;                 ///< calls that were answered
  mutable int64_t looked_ms_ = 0;               ///< when the store was last asked whether to hurry
  mutable int64_t checked_ms_ = 0;              ///< and whether all are there
  std::vector<pid_t> processes_;                ///< of the ranks of this machine, if it has all
};

/// A wait for other ranks that looks whether they are still there.
class Waiting {
 public:
  explicit Waiting(const C10dRanks& ranks);
  void check() const { ranks_.check_others("the sum of gradients", begin_ms_); }

 private:
  const C10dRanks& ranks_;
  int64_t begin_ms_;
};

}  // namespace ltr::distributed
