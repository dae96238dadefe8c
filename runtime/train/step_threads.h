#pragma once

// With how many threads the ops of a step compute.

#include <array>
#include <optional>

#include "runtime/checkpoint/archive.h"
#include "runtime/train/trainer.h"

namespace ltr {

/// As many as the run has, or one where a step is so small that waking a second for each op costs more than it does.
///
/// That is decided by the first step of a role, from counts alone: bytes of new tensors, and products as if every weight
/// met every sample once. So a run repeats; and since some sums change their last bits with the number of threads, what
/// was decided is kept in checkpoints.
class StepThreads {
 public:
  /// `weights`: elements of the model's weights.
  explicit StepThreads(int64_t weights);

  /// Those of the run.
  int all() const { return all_; }

  /// Sets the threads of `role` while it lives. For a first step it looks at what is done and decides.
  class Scope {
   public:
    Scope(StepThreads& of, Role role, int64_t samples);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepThreads& of_;
    Role role_;
    int64_t samples_;
    int64_t taken_before_;
    int before_ = 0;  ///< threads, where they were changed
  };

  void visit(Archive& archive);

 private:
  static constexpr size_t kRoles = 4;
  int64_t weights_;
  int all_;
  std::array<std::optional<bool>, kRoles> is_small_;
};

/// Whether a step that makes `bytes` of tensors and meets `samples` with `weights` weights needs no second thread.
bool is_small_step(int64_t bytes, int64_t weights, int64_t samples);

}  // namespace ltr
