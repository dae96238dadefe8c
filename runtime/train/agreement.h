#pragma once

// What all ranks know together of signals, of what hooks asked for, and of time: they must leave at the same window, and do
// at one time what is due by time. Ranks that only train meet about once a second; where hooks may ask for something, at
// every window.

#include <functional>
#include <vector>

#include "runtime/train/outcome.h"
#include "runtime/train/run_state.h"

namespace ltr {

class Agreement {
 public:
  /// What hooks asked of this rank, and becomes what they asked of any.
  struct Asked {
    Outcome& outcome;
    bool& ends_epoch;
    std::vector<Str>& saves;
  };
  Agreement(const Ranks& ranks, Asked asked) : ranks_(ranks), asked_(asked) {}

  /// `at_every_window`: hooks may ask for something at any of them. `times` follows the first rank's clock.
  void begin(bool at_every_window, Times& times);
  /// Something runs beside training on each rank; `is_over` says whether it has come to its end on this one.
  void watch(std::function<bool()> is_over);
  /// Whether it was over on all ranks when they met last.
  bool is_over() const;
  /// A window is over.
  void after_window();
  /// All ranks are here.
  void meet();
  /// The signal that ends the run, 0 if there is none.
  int signal() const;
  /// Inside a round, where ranks have unequally many batches: whether to leave it for where all meet.
  bool calls_off() const;

 private:
  const Ranks& ranks_;
  Asked asked_;
  Times* times_ = nullptr;
  bool at_every_window_ = true;
  int64_t windows_left_ = 1;   ///< until the next meeting
  int64_t windows_apart_ = 1;
  Times::Clock::time_point met_;
  int signal_ = 0;
  std::function<bool()> watched_;
  bool is_over_ = false;  ///< what is watched, on all ranks
  mutable bool is_called_off_ = false;  ///< the round, here or by another rank
};

}  // namespace ltr
