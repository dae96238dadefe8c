#include "dsl/elaborate/cost.h"

#include <algorithm>
#include <map>
#include <set>

namespace ltr::elaborate {

namespace {

using library::Cost;
using library::Keeps;
using CostKind = Cost::Kind;

constexpr double kOperationsOfProduct = 2;  ///< a multiplication and an addition

Size elements_of(const Value& value) {
  if (value.kind == Value::Kind::Tensor) return count_elements(value.dims);
  if (value.kind != Value::Kind::List && value.kind != Value::Kind::Record) return 0;
  int64_t sum = 0;
  for (const Value& item : value.items) {
    const Size count = elements_of(item);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

Size dim(const Value& tensor, int axis) {
  const int rank = int(tensor.dims.size());
  const int at = axis < 0 ? axis + rank : axis;
  return tensor.kind == Value::Kind::Tensor && at >= 0 && at < rank ? tensor.dims[size_t(at)] : std::nullopt;
}

Size product(std::initializer_list<Size> sizes) { return count_elements(std::vector<Size>(sizes)); }

/// Sizes of all letters of a pattern: each is one loop around the multiply-add.
Size einsum_loops(const Value& pattern, const Value& tensors) {
  std::map<char, Size> sizes;
  size_t tensor = 0, axis = 0;
  for (const char c : pattern.text) {
    if (c == '-') break;
    if (c == ' ') continue;
    if (c == ',') {
      ++tensor;
      axis = 0;
      continue;
    }
    if (c == '.' || tensor >= tensors.items.size()) return std::nullopt;
    sizes[c] = dim(tensors.items[tensor], int(axis++));
  }
  std::vector<Size> all;
  for (const auto& [letter, size] : sizes) all.push_back(size);
  return count_elements(all);
}

Size attention_products(const std::vector<Value>& args) {
  if (args.size() < 3) return std::nullopt;
  const Value &q = args[0], &k = args[1], &v = args[2];
  const Size scores = product({dim(q, 0), dim(q, 1), dim(q, 2), dim(k, 2), dim(q, 3)});
  const Size values = product({dim(q, 0), dim(q, 1), dim(q, 2), dim(k, 2), dim(v, 3)});
  if (!scores || !values) return std::nullopt;
  return *scores + *values;
}

/// Behind the state come the weights of the input, at `weights`, and of the state.
Size recurrent_products(const std::vector<Value>& args, size_t weights) {
  if (args.size() < weights + 2) return std::nullopt;
  const Size rows = product({dim(args[0], 0), dim(args[0], 1)});
  const Size input = product({rows, elements_of(args[weights])});
  const Size hidden = product({rows, elements_of(args[weights + 1])});
  if (!input || !hidden) return std::nullopt;
  return *input + *hidden;
}

/// For each of these, all that the kernel holds of its other channels and places.
Size convolution_products(Size places, const Value& kernel) {
  std::vector<Size> loops = {places};
  for (int i = 1; i < int(kernel.dims.size()); ++i) loops.push_back(dim(kernel, i));
  return count_elements(loops);
}

/// Multiply-adds of a product; nothing if a size is not known.
Size multiply_adds(CostKind kind, const std::vector<Value>& args, const Value& result) {
  if (args.size() < 2) return std::nullopt;
  switch (kind) {
    case CostKind::Linear:
    case CostKind::Matmul: return product({elements_of(result), dim(args[0], -1)});
    case CostKind::Bilinear: return product({elements_of(result), dim(args[0], -1), dim(args[1], -1)});
    case CostKind::Einsum: return einsum_loops(args[0], args[1]);
    case CostKind::Convolution: return convolution_products(elements_of(result), args[1]);
    case CostKind::ConvolutionTransposed: return convolution_products(elements_of(args[0]), args[1]);
    case CostKind::Attention: return attention_products(args);
    case CostKind::Recurrent: return recurrent_products(args, 2);
    case CostKind::Lstm: return recurrent_products(args, 3);
    case CostKind::Output:
    case CostKind::Input:
    case CostKind::Copy:
    case CostKind::View:
    case CostKind::Factors: break;
  }
  return std::nullopt;
}

}  // namespace

void count_cost(Operation& operation, const std::vector<Value>& args, const Value& result) {
  const library::Function& function = library::info(operation.function);
  const CostKind kind = function.cost.kind;
  operation.is_small = function.cost.is_of_few_numbers();
  operation.is_reordered = kind == CostKind::Convolution || kind == CostKind::ConvolutionTransposed;
  operation.is_product = function.cost.is_product();
  operation.is_view = kind == CostKind::View;
  operation.output_elements = elements_of(result);
  Value all;
  all.kind = Value::Kind::List;
  all.items = args;
  operation.input_elements = elements_of(all);
  const Keeps& keeps = function.keeps;
  operation.keeps_operands = keeps.what == Keeps::What::Operands || keeps.what == Keeps::What::Both;
  operation.keeps_result = keeps.what == Keeps::What::Result || keeps.what == Keeps::What::Both;
  const Size first = args.empty() ? Size(0) : elements_of(args[0]);
  operation.keeps_elements =
      keeps.of_result * double(operation.output_elements.value_or(0)) + keeps.of_operand * double(first.value_or(0));
  operation.flops.reset();
  Size count = 0;
  if (operation.is_product) count = multiply_adds(kind, args, result);
  if (kind == CostKind::Output) count = operation.output_elements;
  if (kind == CostKind::Input) count = first;
  if (kind == CostKind::Factors) count = product({first, dim(args[0], -1)});
  if (!count) return;
  operation.flops = (operation.is_product ? kOperationsOfProduct : function.cost.factor) * double(*count);
  const Size looped = operation.is_product ? operation.output_elements : count;
  operation.loop_operations = function.loop * double(looped.value_or(0));
}

Backward count_backward(const std::vector<Operation>& tape, int32_t loss, const std::vector<WeightId>& weights) {
  const std::set<WeightId> trained(weights.begin(), weights.end());
  std::vector<bool> depends(tape.size(), false), matters(tape.size(), false);
  for (size_t i = 0; i < tape.size(); ++i) {
    if (library::info(tape[i].function).gradient == library::Gradient::Stops) continue;
    for (const WeightId weight : tape[i].weights) depends[i] = depends[i] || trained.contains(weight);
    for (const int32_t input : tape[i].inputs) depends[i] = depends[i] || depends[size_t(input)];
  }
  Backward result;
  result.at = tape.size();
  if (loss >= 0) matters[size_t(loss)] = true;
  for (size_t i = tape.size(); i-- > 0;) {
    if (!matters[i] || !depends[i]) continue;
    const Operation& operation = tape[i];
    size_t gradients = 0;
    for (const int32_t input : operation.inputs) {
      if (!depends[size_t(input)]) continue;
      matters[size_t(input)] = true;
      ++gradients;
    }
    // The gradient of a bias is a sum, so of the weights of a product only the first is one more
    // product.
    bool has_weight = false;
    for (const WeightId weight : operation.weights) has_weight = has_weight || trained.contains(weight);
    gradients += has_weight ? 1 : 0;
    // Attention holds two products, so all its gradients are four; the state of a recurrent layer
    // has a gradient whatever its input has.
    const CostKind kind = library::info(operation.function).cost.kind;
    if (kind == CostKind::Attention) gradients = std::min<size_t>(gradients, 2);
    if (kind == CostKind::Recurrent || kind == CostKind::Lstm) gradients = 2;
    if (!operation.flops) {
      result.unknown.push_back(i);
    } else {
      const double flops = *operation.flops * (operation.is_product ? double(gradients) : 1);
      result.flops += flops;
      result.parts.emplace_back(i, flops);
      if (operation.is_product) result.product_flops += flops;
    }
  }
  return result;
}

}  // namespace ltr::elaborate
