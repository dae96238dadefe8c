#pragma once

// What a program may say, and hardly means. Nothing is said of it where there is an error.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// What stands between the braces of a block, model, metric, data or callback; null of other declarations.
const std::vector<ast::Item>* items_in(const ast::Decl& decl);
/// W0312: arguments that have the names of each other's params.
void check_crossed_arguments(Context& cx);
/// W0422: layers of a chain that are one, since nothing stands between them.
void check_joined_layers(Context& cx);

}  // namespace ltr::check
