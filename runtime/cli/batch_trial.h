#pragma once

// One batch size of `--find-batch`, in a process of its own for each rank: it may die of it. The ranks of the program wait for
// theirs, which meet each other elsewhere, and judge together.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

/// What came of a size, of all ranks.
struct TrialResult {
  enum class End : uint8_t { Fits, NoMemory, Crashed, Failed, Stopped };
  End end = End::Fits;
  double bytes = 0;                 ///< most that a rank held at once
  double window_s = 0;              ///< the slowest rank's last window
  Error error = Error("", "", {});  ///< of Failed
  int signal = 0;                   ///< of Stopped
};

/// The windows of a trial.
constexpr int kTrialWindows = 3;

/// Runs the program with `size` as one option more. Every rank calls it.
TrialResult try_batch(const Start& start, const GivenOption& size);

/// Whether this process is such a trial, and what it does then: its exit code is 0 if it said what came of it.
bool is_trial();
int run_trial(Start& start);

}  // namespace ltr::cli
