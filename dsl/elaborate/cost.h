#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/elaborate/instance.h"
#include "dsl/library/library.h"

namespace ltr::elaborate {

/// One call of a library function in the train step.
struct Operation {
  library::Id function = library::Id::None;
  check::Span span;
  std::vector<int32_t> inputs;    ///< entries of the tape that it reads
  std::vector<WeightId> weights;  ///< weights that it reads
  std::optional<double> flops;    ///< of the forward pass; nothing: a size is not known
  bool is_product = false;
  bool is_small = false;      ///< a product, of many of few numbers
  bool is_reordered = false;  ///< a product whose operands and result a core brings into another order
  bool is_view = false;
  double loop_operations = 0;  ///< of a core, in a loop without vectors
  Size input_elements;         ///< of all tensors that it reads
  Size output_elements;        ///< of all its results
  // For the backward pass:
  bool keeps_operands = false;
  bool keeps_result = false;
  double keeps_elements = 0;  ///< of its own, beside these
  ObjectId object = 0;        ///< whose code it stands in
};

/// Fills what it costs, by its sizes and its row of the library's table.
void count_cost(Operation& operation, const std::vector<Value>& args, const Value& result);

/// What the backward pass of one `minimize` or `backward` adds.
struct Backward {
  double flops = 0;
  double product_flops = 0;  ///< the part of products
  size_t at = 0;             ///< entries of the tape before it
  bool is_used_up = true;  ///< an update takes the gradients of weights at once; those of `backward` wait for `step()`
  /// Entries of the tape with their operations, in the order in which the pass meets them.
  std::vector<std::pair<size_t, double>> parts;
  std::vector<size_t> unknown;  ///< operations whose sizes are not known
};

/// Follows `loss` back to `weights`. An operation takes part if the loss hangs on it and it hangs
/// on one of the weights; a product then costs one more product for each operand with a gradient.
Backward count_backward(const std::vector<Operation>& tape, int32_t loss, const std::vector<WeightId>& weights);

}  // namespace ltr::elaborate
