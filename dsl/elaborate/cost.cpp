#include "dsl/elaborate/cost.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace ltr::elaborate {

namespace {

enum class CostKind { Product, Convolution, Products, Output, Input, Copy, View };

struct CostRow {
  CostKind kind = CostKind::Output;
  double factor = 1;
};

const CostRow& cost_of(const std::string& name) {
  static const std::unordered_map<std::string, CostRow> kRows = {
#define LTR_COST(name, kind, factor) {#name, {CostKind::kind, factor}},
#define LTR_LOOP(name, operations)
#define LTR_KEEPS(name, what, of_result, of_operand)
#include "dsl/elaborate/cost.def"
  };
  static const CostRow kOther;
  const auto row = kRows.find(name);
  return row == kRows.end() ? kOther : row->second;
}

/// Operations for each number, of a core; 0: it computes in vectors.
double loop_of(const std::string& name) {
  static const std::unordered_map<std::string, double> kRows = {
#define LTR_COST(name, kind, factor)
#define LTR_LOOP(name, operations) {#name, operations},
#define LTR_KEEPS(name, what, of_result, of_operand)
#include "dsl/elaborate/cost.def"
  };
  const auto row = kRows.find(name);
  return row == kRows.end() ? 0 : row->second;
}

enum class Kept { Nothing, Operands, Result, Both };

struct KeepsRow {
  Kept what = Kept::Operands;
  double of_result = 0;
  double of_operand = 0;
};

const KeepsRow& keeps_of(const std::string& name) {
  static const std::unordered_map<std::string, KeepsRow> kRows = {
#define LTR_COST(name, kind, factor)
#define LTR_LOOP(name, operations)
#define LTR_KEEPS(name, what, of_result, of_operand) {#name, {Kept::what, of_result, of_operand}},
#include "dsl/elaborate/cost.def"
  };
  static const KeepsRow kOther;
  const auto row = kRows.find(name);
  return row == kRows.end() ? kOther : row->second;
}

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
  return tensor.kind == Value::Kind::Tensor && at >= 0 && at < rank ? tensor.dims[size_t(at)]
                                                                    : std::nullopt;
}

Size product(std::initializer_list<Size> sizes) {
  return count_elements(std::vector<Size>(sizes));
}

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

/// Multiply-adds of a product.
Size multiply_adds(const std::string& name, const std::vector<Value>& args, const Value& result) {
  const Size out = elements_of(result);
  if (args.size() < 2) return std::nullopt;
  if (name == "einsum") return einsum_loops(args[0], args[1]);
  if (name == "linear" || name == "matmul" || name == "bmm")
    return product({out, dim(args[0], -1)});
  if (name == "bilinear") return product({out, dim(args[0], -1), dim(args[1], -1)});
  if (name.starts_with("conv_transpose") || name.starts_with("conv")) {
    const bool is_transposed = name.starts_with("conv_transpose");
    std::vector<Size> loops = {is_transposed ? elements_of(args[0]) : out};
    for (int i = 1; i < int(args[1].dims.size()); ++i) loops.push_back(dim(args[1], i));
    return count_elements(loops);
  }
  if (name == "attention" && args.size() >= 3) {
    const Value &q = args[0], &k = args[1], &v = args[2];
    const Size scores = product({dim(q, 0), dim(q, 1), dim(q, 2), dim(k, 2), dim(q, 3)});
    const Size values = product({dim(q, 0), dim(q, 1), dim(q, 2), dim(k, 2), dim(v, 3)});
    if (!scores || !values) return std::nullopt;
    return *scores + *values;
  }
  if (name == "lstm" || name == "gru" || name == "rnn") {
    // Behind the state, which an LSTM has two of, come the weights of the input and of the state.
    const size_t weights = name == "lstm" ? 3 : 2;
    if (args.size() < weights + 2) return std::nullopt;
    const Size rows = product({dim(args[0], 0), dim(args[0], 1)});
    const Size input = product({rows, elements_of(args[weights])});
    const Size hidden = product({rows, elements_of(args[weights + 1])});
    if (!input || !hidden) return std::nullopt;
    return *input + *hidden;
  }
  return std::nullopt;
}

}  // namespace

void count_cost(Operation& operation, const std::vector<Value>& args, const Value& result) {
  const CostRow& row = cost_of(operation.name);
  operation.is_small = row.kind == CostKind::Products;
  operation.is_reordered = row.kind == CostKind::Convolution;
  operation.is_product = row.kind == CostKind::Product || operation.is_reordered || operation.is_small;
  operation.is_view = row.kind == CostKind::View;
  operation.output_elements = elements_of(result);
  Value all;
  all.kind = Value::Kind::List;
  all.items = args;
  operation.input_elements = elements_of(all);
  Size count = 0;
  switch (row.kind) {
    case CostKind::Product:
    case CostKind::Convolution:
    case CostKind::Products:
      count = multiply_adds(operation.name, args, result);
      break;
    case CostKind::Output:
      count = operation.output_elements;
      break;
    case CostKind::Input:
      count = args.empty() ? Size(0) : elements_of(args[0]);
      break;
    case CostKind::Copy:
    case CostKind::View:
      break;
  }
  operation.flops.reset();
  const KeepsRow& keeps = keeps_of(operation.name);
  operation.keeps_operands = keeps.what == Kept::Operands || keeps.what == Kept::Both;
  operation.keeps_result = keeps.what == Kept::Result || keeps.what == Kept::Both;
  operation.keeps_elements = keeps.of_result * double(operation.output_elements.value_or(0));
  if (keeps.of_operand > 0 && !args.empty()) operation.keeps_elements += keeps.of_operand * double(elements_of(args[0]).value_or(0));
  if (!count) return;
  operation.flops = row.factor * double(*count);
  const Size looped = operation.is_product ? operation.output_elements : count;
  operation.loop_operations = loop_of(operation.name) * double(looped.value_or(0));
}

Backward count_backward(const std::vector<Operation>& tape,
                        int32_t loss,
                        const std::vector<WeightId>& weights) {
  const std::set<WeightId> trained(weights.begin(), weights.end());
  std::vector<bool> depends(tape.size(), false), matters(tape.size(), false);
  for (size_t i = 0; i < tape.size(); ++i) {
    if (tape[i].name == "stop_grad") continue;
    for (const WeightId weight : tape[i].weights)
      depends[i] = depends[i] || trained.contains(weight);
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
    for (const WeightId weight : operation.weights)
      has_weight = has_weight || trained.contains(weight);
    gradients += has_weight ? 1 : 0;
    // Attention holds two products, so all its gradients are four; the state of a recurrent layer
    // has a gradient whatever its input has.
    if (operation.name == "attention") gradients = std::min<size_t>(gradients, 2);
    if (operation.name == "lstm" || operation.name == "gru" || operation.name == "rnn")
      gradients = 2;
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
