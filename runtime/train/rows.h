#pragma once

// The values of one step on their way to the loggers: several moments add to a step's row, and a resumed run writes the
// row of its checkpoint's step again, because the loggers cut from that step on.

#include <utility>
#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/loggers/logger.h"

namespace ltr {

using Named = loggers::NamedValues;

class Rows {
 public:
  /// Values of the step that is under way. `only_last`: recorded only because the run ends here, so no part of the row
  /// that a longer run would have.
  Named& regular() { return regular_; }
  Named& only_last() { return only_last_; }

  /// What is to be written now, for `step` of `epoch`; it is kept for a checkpoint at this step.
  Named take(int64_t step, int64_t epoch);
  /// After a resume: puts back what was written for the checkpoint's step, with what only a last step has if
  /// `is_last`. Gives the epoch it was written for.
  int64_t put_back(bool is_last);
  bool was_written(int64_t step) const { return step_ == step && !(kept_.empty() && kept_last_.empty()); }

  void visit(Archive& archive);

 private:
  Named regular_;
  Named only_last_;
  int64_t step_ = -1;  ///< of what was written last
  int64_t epoch_ = 0;
  Named kept_;
  Named kept_last_;
};

}  // namespace ltr
