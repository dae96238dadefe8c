#pragma once

#include <string>
#include <vector>

#include "dsl/elaborate/elaborate.h"

/// How much of a step's results lies in memory at one time.
namespace ltr::elaborate {

/// Numbers of results and of their gradients, when there are most.
struct Peak {
  double results = 0;
  /// The same with the gradients of weights, which come one by one while results go.
  double with_gradients = 0;
};

/// Follows the train step and its backward passes. A result is there until nothing will read it: what an operation keeps for its
/// backward pass is in `dsl/library`. `blocks` has for each entry of the tape the block whose results are computed again, "" if
/// they are kept. `copies`: as on a core, products hold some of what they read and give twice. The gradient of a
/// weight is as large as `gradient_size` numbers of a result.
Peak find_peak(const Plan& plan, const std::vector<std::string>& blocks, bool copies, double gradient_size);

}  // namespace ltr::elaborate
