#pragma once

// Gradients summed by c10d's Reducer: in buckets, each as soon as its gradients are there, while the backward pass goes on.
// Between ranks of one machine through shared memory, else over the process group.

#include <ATen/core/Tensor.h>

#include <memory>

#include "runtime/train/ranks.h"

namespace c10d {
class Reducer;
}

namespace ltr::distributed {

class C10dRanks;
class SharedSum;

class ReducerSum final : public GradientSum {
 public:
  ReducerSum(const C10dRanks& ranks, const std::vector<at::Tensor>& weights, const GradientTravel& travel);
  ~ReducerSum() override;

  void during(const std::function<void()>& pass) override;
  Times times() const override;

 private:
  struct Clock;
  const C10dRanks& ranks_;
  std::shared_ptr<Clock> clock_;  // buckets that are under way stop it
  std::unique_ptr<SharedSum> shared_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace ltr::distributed
