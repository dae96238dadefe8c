#pragma once

// A batch in, what `step predict` returns out: for `predict`, and for whatever else answers one batch at a time.

#include <memory>

#include "runtime/train/session.h"

namespace ltr {

class Predictor {
 public:
  /// R2006 if the model has no step predict.
  explicit Predictor(RunRequest& request);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// The hooks around all batches. Throws what they throw.
  void begin();
  void end();
  /// The result for `batch` of `stream`; valid until the next call.
  const Outputs& predict(const Batch& batch, size_t stream);

 private:
  void check_outputs(const Batch& batch) const;

  RunRequest& request_;
  const StepInfo& step_;
  Session cx_;
  int64_t batches_ = 0;
};

}  // namespace ltr
