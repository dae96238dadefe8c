#pragma once

// What a program may say, and hardly means. Nothing is said of it where there is an error.

#include "dsl/check/declarations/items.h"
#include "dsl/check/scope/context.h"

namespace ltr::check {

/// W0312: arguments that have the names of each other's params.
void check_crossed_arguments(Context& cx);
/// W0422: layers of a chain that are one, since nothing stands between them.
void check_joined_layers(Context& cx);

}  // namespace ltr::check
