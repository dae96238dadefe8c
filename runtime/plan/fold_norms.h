#pragma once

#include "runtime/plan/recording.h"

namespace ltr::plan {

/// In evaluation a batch norm is a factor and a term for each channel. Behind a convolution or linear layer that nobody else reads these
/// become part of the layer's weight and bias, which a node at its place makes of those that there are in each run; the layer stands where
/// the norm stood. Only where it gives as many elements as its weight has, so that less is computed, and where nothing is trained.
/// Places of all nodes stay, and what anyone else reads.
void fold_norms(Recording& recording);

}  // namespace ltr::plan
