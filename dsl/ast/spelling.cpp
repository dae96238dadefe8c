#include <array>

#include "dsl/ast/dump.h"

namespace ltr::ast {

std::string_view spelling(BinaryOp op) {
  constexpr std::array<std::string_view, 18> kOps = {
      "error", "or", "and", "==", "!=", "<", "<=", ">", ">=", "in", "..", "+", "-", "*", "/", "%", "@", "**"};
  return kOps[static_cast<size_t>(op)];
}

}  // namespace ltr::ast
