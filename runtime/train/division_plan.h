#pragma once

#include "ltr/api.h"

namespace ltr {

/// What of training the ranks divide among them; what stands behind it, too, and of all else each has the whole.
enum class Divides : uint8_t { Nothing, States, Gradients, Weights };

struct DivisionPlan {
  Divides what = Divides::Nothing;
  Str block;             ///< Weights: they are gathered for one block of this kind at a time
  int64_t replicas = 1;  ///< so many groups of ranks hold the same, each divided within
};

}  // namespace ltr
