#pragma once

// `--find-batch` (runtime.md 2.10): the largest batch that fits into memory, by trials.

#include <functional>

#include "runtime/cli/batch_trial.h"

namespace ltr::cli {

struct BatchSearch {
  struct Trial {
    int64_t size = 0;
    TrialResult result;
  };
  std::vector<Trial> trials;   ///< in the order in which they were made
  int64_t most = 0;            ///< no larger one was asked for: the samples of a rank
  int64_t largest = 0;         ///< of those that fit
  bool is_limited = false;     ///< a larger one was tried and did not fit
  int64_t size = 0;            ///< what is proposed
  int signal = 0;              ///< that ended it before it was over
  Option<GivenOption> option;  ///< that makes the size what is proposed
};

/// Every rank calls it, with its settings resolved and nothing built; `told` is called behind each trial. R2006 for a program whose
/// batch size no setting sets, R1001 if not even the smallest allowed batch fits, and what else a trial fails with.
BatchSearch find_batch(Start& start, const std::function<void(const BatchSearch&)>& told);

}  // namespace ltr::cli
