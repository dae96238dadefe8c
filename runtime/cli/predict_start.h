#pragma once

#include "runtime/cli/prepare.h"

namespace ltr::cli {

/// What answers with `step predict`: `predict` and `serve`.
struct PredictStart {
  const StepInfo& step;
  Str weights;  ///< a path for load_weights, "" for new ones
  Str run;      ///< the folder that they came from, "" for none
};

/// Opens the data and builds the model with the weights that `--weights` means. R2006 if it has no step predict.
PredictStart start_predict(Start& start);

}  // namespace ltr::cli
