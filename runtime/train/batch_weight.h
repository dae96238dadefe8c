#pragma once

// What a batch counts in windows and in means: `trainer.weigh`.

#include "runtime/train/trainer.h"

namespace ltr {

class BatchWeight {
 public:
  /// R2003 for an unknown rule, R2002 for a field that the batch lacks.
  explicit BatchWeight(const RunRequest& request);

  /// Its samples, 1, or the elements of the counted field that are not ignored; samples where a role lacks the field.
  double of(const Batch& batch) const;
  /// The same for a batch of `samples` that was not read; `count` cannot know, and takes the samples.
  double nominal(int64_t samples) const { return per_batch_ && samples > 0 ? 1.0 : double(samples); }
  bool counts() const { return field_ >= 0; }

 private:
  bool per_batch_ = false;
  int field_ = -1;  ///< of `count("field")`
  int64_t ignore_ = -100;
};

}  // namespace ltr
