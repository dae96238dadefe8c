#pragma once

#include <string>
#include <vector>

#include "dsl/elaborate/elaborate.h"

/// The train step as its plan runs it on a CPU (docs/native.md): calls of kernels, and how long what they give is needed.
namespace ltr::elaborate {

/// One call of a kernel.
struct PlannedCall {
  /// Who does it: each thread its samples, each thread a part, or one thread.
  enum class Split : uint8_t { Samples, Shares, Alone };
  Split split = Split::Samples;
  bool is_elements = false;           ///< functions of elements, which others may join
  bool gathers = false;               ///< a product of what is gathered first, patches of images or states of moments
  double flops = 0;                   ///< of a product
  double operations = 0;              ///< beside, one for an element
  double given = 0;                   ///< numbers of weights and of the batch that it reads
  std::vector<size_t> reads, writes;  ///< values
  size_t phase = 0;                   ///< between which meetings of the threads
};

struct PlannedStep {
  std::vector<PlannedCall> calls;
  std::vector<double> values;  ///< numbers of each
  size_t phases = 0;
  /// Numbers of all values when there are most, with the gradients of weights.
  double peak = 0;
  double gradients =
      0;  ///< numbers of those of weights; of a table those of the rows that were read, where that is enough
  /// Numbers that the rehearsal holds when there are most: of the step op by op, what the way back would want, too.
  double rehearsed = 0;
};

/// `blocks` has for each entry of the tape the block whose results are computed again, "" if they are kept.
PlannedStep plan_step(const Plan& plan, const std::vector<std::string>& blocks);

}  // namespace ltr::elaborate
