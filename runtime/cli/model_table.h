#pragma once

// The table of layers at the start of a run (runtime.md 11.1).

#include "runtime/cli/prepare.h"

namespace ltr::cli {

struct WeightSums {
  int64_t trained = 0;
  int64_t frozen = 0;
  int64_t buffers = 0;
  double bytes = 0;
};
/// As `ltrc plan` counts: a weight is trained if an optimizer moves it.
WeightSums weight_sums(const ModelRoot& root);
/// Bytes of the states that optimizers keep.
double optimizer_bytes(const ModelRoot& root);

/// Why the sizes of this run may not be those that the compiler counted with, or the command that counts them: an hparam that they hang on
/// is another, a setting of data or model is given by itself, or a block has other weights. "" if they are.
Str why_not_counted(const Start& start);

/// The table of layers, as deep as `Summary` says, with the line of weights. What the compiler counted, sizes of results and
/// FLOPs, stands there if this run has the sizes that it counted with.
Str model_table(const Start& start);
/// Whether a `fit` shows it: `Summary` is not off.
bool shows_model(const Start& start);

}  // namespace ltr::cli
