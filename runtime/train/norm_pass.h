#pragma once

// The running values of batch norms for weights that were averaged: means over an epoch of the train stream (runtime.md 2.9).

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/train/run_state.h"

namespace ltr {

class NormPass {
 public:
  explicit NormPass(const RunRequest& request);
  ~NormPass();
  NormPass(const NormPass&) = delete;
  NormPass& operator=(const NormPass&) = delete;

  /// Runs `step train` on the batches of an epoch as training does, forward alone: nothing moves, and nothing is logged or drawn that
  /// training would draw otherwise. Ends at once where no batch norm trains. False where a signal cut it off. All ranks call it.
  /// Buffers that the step writes are written: `buffers` are those of norms.
  bool run(const Position& at, int64_t epoch);
  const std::vector<at::Tensor>& buffers() const { return buffers_; }

 private:
  class Forward;

  RunRequest request_;
  const StepInfo& step_;
  size_t stream_;
  std::unique_ptr<Forward> cx_;
  Times times_;
  std::vector<at::Tensor> buffers_;
};

}  // namespace ltr
