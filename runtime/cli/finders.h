#pragma once

// `--find-batch`, `--find-lr`, `--then-fit` (runtime.md 2.10): what runs before a `fit`, on all its ranks, and what the run takes
// from it.

#include "runtime/cli/find_batch.h"
#include "runtime/train/find_lr.h"

namespace ltr::cli {

/// What a finder came to.
struct Finding {
  Str file;           ///< `find_lr.csv`
  Str table;          ///< its text
  GivenOption given;  ///< how the run takes it
};

class Finders {
 public:
  /// `start` is resolved. R2006 for options that exclude each other.
  explicit Finders(Start& start);

  bool are_asked() const { return !asked_.empty(); }
  /// Runs those that were asked for; `start` is resolved anew with what they find. What the program exits with, nothing if it goes on
  /// with the run. R1013 if there is nothing to find.
  Option<int> run();
  /// For a run that goes on: what was found for it when it began. R2006 if nothing was.
  void take_from(const Str& run);
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  Option<int> run_batch();
  Option<int> run_lr();
  /// Tells people that a signal ended the search; what the program exits with.
  int given_up(int signal) const;
  void tell(const BatchSearch& found);
  void tell(const LrCurve& curve, const Str& optimizer, Option<size_t> best);
  /// The option holds from here on.
  void take(GivenOption given);
  /// Of a finder that is over: keeps its table, in a file of its own where no run follows.
  void keep(const Str& file, const Str& table, const GivenOption* given);
  Str path_of(const Str& file) const;

  Start& start_;
  std::vector<Str> asked_;
  bool goes_on_ = false;  ///< with a run
  std::vector<Finding> findings_;
};

}  // namespace ltr::cli
