#pragma once

// The processes that train together: whatever depends on their number goes through here. What one of them exchanges all
// of them exchange, in the same order.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/api/error.h"
#include "runtime/tensor/accelerator.h"

namespace ltr {

/// A sum over all ranks that is under way.
class PendingSum {
 public:
  PendingSum() = default;
  PendingSum(const PendingSum&) = delete;
  PendingSum& operator=(const PendingSum&) = delete;
  virtual ~PendingSum() = default;
  virtual std::vector<double> wait() = 0;
};

/// Tensors of all ranks that are on their way to each other.
class PendingTensors {
 public:
  PendingTensors() = default;
  PendingTensors(const PendingTensors&) = delete;
  PendingTensors& operator=(const PendingTensors&) = delete;
  virtual ~PendingTensors() = default;
  virtual void wait() = 0;
};

/// Sums the gradients of some weights over all ranks.
class GradientSum {
 public:
  GradientSum() = default;
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;
  virtual ~GradientSum() = default;

  /// Runs `pass`, which gives every one of the weights the last gradient of the window; sums may begin while it runs.
  /// Then they are in the weights' `grad`, the same bits on every rank; where ranks divide them, each has its part.
  virtual void during(const std::function<void()>& pass) = 0;
  /// The last sum has zeros for `weight`, which no rank gave a gradient: it has none.
  virtual void drop(const at::Tensor& weight) const;

  struct Times {
    double exchange_s = 0;  ///< gradients were on their way
    double wait_s = 0;      ///< and nothing else was done
  };
  virtual Times times() const { return {}; }
};

/// How gradients travel.
struct GradientTravel {
  int64_t bucket_bytes = int64_t(25) << 20;         ///< so many leave together
  at::ScalarType type = at::ScalarType::Undefined;  ///< on the wire; Undefined: as they are
};

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t world() const = 0;

  /// What each rank says, in their order.
  virtual std::vector<Str> texts(const Str& own) const = 0;
  /// Sums of what each rank gives, element by element; other work may be done until they are waited for.
  virtual std::unique_ptr<PendingSum> begin_sum(std::vector<double> numbers) const;
  /// Sums a tensor over all ranks, in place: the same bits everywhere.
  virtual void sum_tensor(const at::Tensor& tensor) const;
  /// Sums `whole` over all ranks, and this one's stretch of the sums, the `rank()`-th of `world()` equal ones, goes into
  /// `part`. `whole` is used up; both are left alone until they are waited for.
  virtual std::unique_ptr<PendingTensors> begin_scatter(const at::Tensor& part, const at::Tensor& whole) const;
  /// The parts of all ranks, equally long, go into `whole` in their order.
  virtual std::unique_ptr<PendingTensors> begin_gather(const at::Tensor& whole, const at::Tensor& part) const;
  /// Those of `members` by themselves, in that order. Every rank calls it at the same time, and is among those it names.
  virtual std::unique_ptr<Ranks> among(const std::vector<int64_t>& members) const;
  /// All get the first rank's values, in place.
  virtual void take_from_first(const std::vector<at::Tensor>& tensors) const;
  /// `weights` all need gradients.
  virtual std::unique_ptr<GradientSum> sum_gradients(const std::vector<at::Tensor>& weights,
                                                     const GradientTravel& travel) const;

  /// Tensors of this accelerator, whose device is chosen, are exchanged from here on, too.
  virtual void meet_on(Accelerator&) const {}

  /// Between exchanges: asks the others to come to the next one soon, and whether one of them asked.
  virtual void hurry() const {}
  virtual bool is_hurried() const { return false; }

  /// This rank fails with `error`. Gives its exit code if another one says, or has said, why; else this one is to say it.
  virtual Option<int> failing(const Error&) const { return {}; }

  /// Sums, least or largest numbers over all ranks, in place and element by element.
  void sum(std::span<double> numbers) const;
  void least(std::span<double> numbers) const;
  void most(std::span<double> numbers) const;
  /// On the first rank the outputs of all, in their order, without those of a rank that gives none; nothing elsewhere.
  std::vector<Outputs> gather(const Outputs& own) const;
  /// What the first rank says.
  Str of_first(const Str& own) const { return texts(own).front(); }
  /// The one rank that prints, logs and writes.
  bool is_first() const { return rank() == 0; }

 private:
  /// What each rank has, in their order.
  std::vector<at::Tensor> tensors(const at::Tensor& own) const;
};

/// A process by itself.
const Ranks& one_rank();

/// A metric's state of each rank, in their order, by its own rule: lengths of `cat` may differ.
at::Tensor joined(const std::vector<at::Tensor>& states, Reduce how);

}  // namespace ltr
