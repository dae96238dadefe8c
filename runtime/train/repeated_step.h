#pragma once

#include "runtime/train/trainer.h"
#include "runtime/train/windows.h"

namespace ltr {

/// R2006 for what does not go with an optimizer that repeats the train step `step`, if the model has one.
void check_repeated_step(const RunRequest& request, const StepInfo& step, const Windows& windows);

}  // namespace ltr
