// The rules of all rooms.

#include <array>

#include "runtime/plan/rule.h"

namespace ltr::plan {

Rule rule_of(Op op) {
  static const auto kRules = [] {
    std::array<Rule, kOps> rules{};
    for (const std::span<const RuleRow> room :
         {elementwise_rules(), shape_rules(), reduction_rules(), product_rules(), einsum_rules(), normalization_rules(),
          loss_rules(), recurrent_rules()}) {
      for (const RuleRow& row : room) rules[size_t(row.op)] = row.rule;
    }
    return rules;
  }();
  return kRules[size_t(op)];
}

}  // namespace ltr::plan
