#pragma once

// What all ranks know together of signals, of what hooks asked for, and of time: they must leave at the same window, and do
// at one time what is due by time. Ranks that only train meet about once a second; where hooks may ask for something, at
// every window.

#include <functional>
#include <vector>

#include "runtime/train/outcome.h"
#include "runtime/train/run_state.h"

namespace ltr {

/// How many windows, or batches of a round, lie between two meetings of the ranks: so many that about a second does. The first
/// rank's clock decides, so all of them know the next one.
class Pace {
 public:
  /// From here on they meet at each, until it is known how long one takes.
  void begin();
  /// One is done: whether they meet now.
  bool is_due() { return --left_ <= 0; }
  /// They are meeting: how many the next one is away, by this rank's clock.
  int64_t proposed();
  /// The next one is so many away.
  void set(int64_t apart) { left_ = apart_ = apart; }

 private:
  int64_t left_ = 1;
  int64_t apart_ = 1;
  Times::Clock::time_point met_;
};

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
  /// A round begins; `is_together`: the ranks compute each of its batches together.
  void begin_round(bool is_together);
  /// A batch of it is done: whether to leave it for where all meet. Together all leave behind the same batch; otherwise ranks
  /// have unequally many.
  bool calls_off();
  /// Whether it was left.
  bool is_called_off() const { return is_called_off_; }

 private:
  bool meet_in_round(bool is_here);

  const Ranks& ranks_;
  Asked asked_;
  Times* times_ = nullptr;
  bool at_every_window_ = true;
  bool is_together_ = false;
  Pace windows_, batches_;
  int signal_ = 0;
  std::function<bool()> watched_;
  bool is_over_ = false;        ///< what is watched, on all ranks
  bool is_called_off_ = false;  ///< the round, here or by another rank
};

}  // namespace ltr
