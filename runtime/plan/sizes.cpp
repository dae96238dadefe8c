#include "runtime/plan/sizes.h"

#include <ATen/ExpandUtils.h>
#include <c10/core/ScalarType.h>

#include "runtime/tensor/handle.h"

namespace ltr::plan {

namespace {

/// Of all tensors that `node` takes, spread over one another.
Ints broadcast(const Graph& graph, const Node& node) {
  Ints sizes;
  each_read(node, [&](ValueId id) { sizes = at::infer_size(sizes, graph.values[id].sizes); });
  return sizes;
}

/// The one type of real numbers that `node` takes; nothing if there are several.
Option<DType> element_of(const Graph& graph, const Node& node) {
  Option<DType> element;
  bool is_one = true;
  each_read(node, [&](ValueId id) {
    const DType dtype = graph.values[id].dtype;
    if (!c10::isFloatingType(aten(dtype))) return;
    is_one = is_one && element.value_or(dtype) == dtype;
    element = dtype;
  });
  return is_one ? element : std::nullopt;
}

/// Of matrices in the last two axes; nothing where one is a vector.
Option<Ints> product(const Ints& left, const Ints& right) {
  if (left.size() < 2 || right.size() < 2) return std::nullopt;
  const at::IntArrayRef rows(left), columns(right);
  Ints sizes = at::infer_size(rows.slice(0, rows.size() - 2), columns.slice(0, columns.size() - 2));
  sizes.insert(sizes.end(), {left[left.size() - 2], right.back()});
  return sizes;
}

}  // namespace

bool tell_sizes(Graph& graph, const Node& node) {
  const auto sizes_of = [&](size_t argument) { return graph.values[node.value(argument).id].sizes; };
  const auto note = [&](size_t result, const Ints& sizes, Option<DType> dtype) {
    Value& value = graph.values[node.results[result]];
    value.sizes = sizes;
    value.dtype = dtype.value_or(value.dtype);
    value.is_sized = true;
  };
  const Option<DType> element = element_of(graph, node);
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::add_number:
    case Op::sub_number:
    case Op::mul_number:
    case Op::div_number:
    case Op::number_add:
    case Op::number_sub:
    case Op::number_mul:
    case Op::number_div:
    case Op::neg:
      if (!element) return false;
      note(0, broadcast(graph, node), element);
      return true;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq_number:
    case Op::ne_number:
    case Op::lt_number:
    case Op::le_number:
    case Op::gt_number:
    case Op::ge_number: note(0, broadcast(graph, node), DType::Bool); return true;
    case Op::sum_to:
      if (!element) return false;
      note(0, node.host<Ints>(1), element);
      return true;
    case Op::matmul:
    case Op::bmm: {
      const Option<Ints> sizes = product(sizes_of(0), sizes_of(1));
      if (!sizes || !element) return false;
      note(0, *sizes, element);
      return true;
    }
    case Op::attention_backward:
      if (node.host<bool>(8) || !element) return false;
      for (size_t i = 0; i < 3; ++i) note(i, sizes_of(i + 1), element);
      return true;
    default: return false;
  }
}

}  // namespace ltr::plan
