#pragma once

#include <vector>

#include "dsl/ast/decl.h"

namespace ltr::check {

/// What stands between the braces of a block, model, metric, data or callback; null of other declarations.
const std::vector<ast::Item>* items_in(const ast::Decl& decl);

}  // namespace ltr::check
