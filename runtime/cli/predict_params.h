#pragma once

// What `step predict` is given beside the fields of the data: by flags, or by its defaults.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

struct PredictParams {
  std::vector<Value> values;  ///< of `StepInfo::params`, in order; of tensors nothing
  Tensors tensors;            ///< of those that are tensors: they stand behind the data's fields
  bool is_text = false;       ///< a text was given, which the data's characters encode
};

/// Throws R2003 for all that are not given or not of their type. Only the verb `predict` has flags for them.
PredictParams read_predict_params(const Start& start, const StepInfo& step, bool has_flags);

}  // namespace ltr::cli
