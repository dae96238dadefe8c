#pragma once

// What each optimizer keeps, for whoever counts it without making one: the compiler does not see LibTorch.

namespace ltr::optim {

struct RuleStates {
  const char* name;
  int states;        ///< tensors of a weight's size
  const char* more;  ///< arguments that add one each when they are set
};

inline constexpr RuleStates kRuleStates[] = {
#define LTR_RULE(name, maker, lr, weight_decay, states, more, moves) {#name, states, more},
#include "runtime/tables/rules.def"
#undef LTR_RULE
};

/// What a rule keeps of so many updates as an argument says.
struct RuleHistory {
  const char* rule;
  const char* argument;
  int initial;  ///< where a call does not say
  int states;   ///< tensors of a weight's size, of each
};

inline constexpr RuleHistory kRuleHistory = {"LBFGS", "history", 100, 2};

}  // namespace ltr::optim
