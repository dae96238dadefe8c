#pragma once

// Who listens while a step runs (runtime/plan/recorder.h), as ops and reads see it.

#include "runtime/tables/unplanned.h"

namespace ltr {

class StepWatch {
 public:
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;
  virtual ~StepWatch() = default;

  /// The step does what no recording can repeat, for `reason`.
  virtual void refuse(const char* reason) = 0;
  /// What runs between the two is computed again in the backward pass; no such call lies in another one.
  virtual void begin_again() {}
  virtual void end_again() {}
  /// Of this thread; null if nobody does.
  static StepWatch*& here();

 protected:
  StepWatch() = default;
};

/// Tells whoever listens.
inline void refuse_plan(Unplanned what) {
  if (StepWatch* watch = StepWatch::here(); watch != nullptr) [[unlikely]]
    watch->refuse(reason_of(what));
}

}  // namespace ltr
