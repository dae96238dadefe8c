#pragma once

// What an experiment wires together.

#include "dsl/check/scope/context.h"

namespace ltr::check {

void check_experiments(Context& cx, uint32_t module);

}  // namespace ltr::check
