#pragma once

// Ops that only graphs have (ops.def).

#include "ltr/operators.h"
#include "ltr/ops.h"

namespace ltr::plan {

#define LTR_PLAN_OP(op, name, args, params, ...) __VA_ARGS__ name params;
#include "runtime/plan/ops.def"

}  // namespace ltr::plan
