#pragma once

// What a step is given beside the fields of the data: by flags, or by its defaults.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

struct GivenParams {
  StepParams params;
  bool is_text = false;  ///< a text was given, which the data's characters encode
};

/// Throws R2003 for all that are not given or not of their type.
GivenParams read_step_params(const Start& start, const StepInfo& step);

/// A fast dev run also tries `step predict`, with what flags would give it at its defaults.
void give_predict_params(const Start& start, RunRequest& request);

}  // namespace ltr::cli
