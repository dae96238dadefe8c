// The plain recurrent layer, and its gradient: sums of all inputs at once, to which each thread adds those of the moment before, for its
// samples and moment by moment.

#include <algorithm>
#include <cstring>

#include "runtime/kernels/product.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/lower/recurrent.h"

namespace ltr::plan {

namespace {

using kernels::PanelProduct;
using kernels::point_kernel;
using kernels::PointStep;
using kernels::ProductKernel;
using kernels::row_kernel;

/// Rows of units that lie `row` apart.
struct Units {
  float* at;
  int64_t row;
};

/// into = from · matrix, or that added to it; the matrix is [units, units], in `panels`.
void multiply(const ProductKernel& kernel, const Units& from, int64_t rows, int64_t units, const float* panels,
              bool adds, const Units& into) {
  PanelProduct product;
  product.left = {from.at, from.row, 1};
  product.rows = rows;
  product.depth = units;
  product.adds = adds;
  product.out_row = into.row;
  for (int64_t first = 0; first < units; first += kernel.width) {
    product.panel = panels + first * kernel.lines(units);
    product.columns = std::min(kernel.width, units - first);
    product.out = into.at + first;
    kernel.multiply(product);
  }
}

/// Rows [begin, end) of the batch: where their units of a moment are, in values of all moments.
struct Samples {
  const RecurrentLayer& layer;
  int64_t begin, end;
  const ProductKernel& products;

  int64_t count() const { return end - begin; }
  int64_t moment(int64_t turn) const { return layer.is_reversed ? layer.moments - 1 - turn : turn; }
  /// Of the moment that comes as the `turn`-th.
  Units of(float* all, int64_t turn) const {
    return {all + (begin * layer.moments + moment(turn)) * layer.hidden, layer.moments * layer.hidden};
  }
  Units of_state(float* state) const { return {state + begin * layer.hidden, layer.hidden}; }
};

bool is_relu(const Node& node) {
  const Argument& form = node.arguments[node.arguments.size() - 2];
  return std::get<Str>(form) == "relu";
}

/// `outputs` hold the sums of inputs, and become what the layer gives.
void run_forward(const Samples& samples, bool is_relu, float* first, const float* panels, float* outputs) {
  const PointStep step{is_relu ? kernels::Point::relu : kernels::Point::tanh, 0, 0, 0, 0};
  const int64_t hidden = samples.layer.hidden;
  for (int64_t turn = 0; turn < samples.layer.moments; ++turn) {
    const Units now = samples.of(outputs, turn);
    multiply(samples.products, turn == 0 ? samples.of_state(first) : samples.of(outputs, turn - 1), samples.count(),
             hidden, panels, true, now);
    for (int64_t row = 0; row < samples.count(); ++row) {
      float* const units = now.at + row * now.row;
      point_kernel().run(&step, 1, &units, hidden);
    }
  }
}

/// What a way back reads and writes; the gradients that it is given may be null.
struct WayBack {
  float *first, *outputs;
  float* by_outputs;
  float* by_first;  ///< begins as that of the last output
  float *by_sums, *before;
};

void run_back(const Samples& samples, bool is_relu, const float* panels, const WayBack& way) {
  const int64_t hidden = samples.layer.hidden;
  const Units carried = samples.of_state(way.by_first);
  for (int64_t turn = samples.layer.moments; turn-- > 0;) {
    const Units y = samples.of(way.outputs, turn), by_sums = samples.of(way.by_sums, turn),
                before = samples.of(way.before, turn);
    const Units last = turn == 0 ? samples.of_state(way.first) : samples.of(way.outputs, turn - 1);
    for (int64_t row = 0; row < samples.count(); ++row) {
      const float* const from = y.at + row * y.row;
      const float* const more = way.by_outputs == nullptr ? nullptr : samples.of(way.by_outputs, turn).at + row * y.row;
      const float* const carry = carried.at + row * carried.row;
      float* const into = by_sums.at + row * by_sums.row;
      for (int64_t i = 0; i < hidden; ++i) {
        const float slope = is_relu ? (from[i] > 0 ? 1.0F : 0.0F) : 1 - from[i] * from[i];
        into[i] = (more == nullptr ? carry[i] : carry[i] + more[i]) * slope;
      }
      std::memcpy(before.at + row * before.row, last.at + row * last.row, size_t(hidden) * sizeof(float));
    }
    multiply(samples.products, by_sums, samples.count(), hidden, panels, false, carried);
  }
}

std::vector<Argument> key_of_rnn(const Node& node, size_t first) {
  std::vector<Argument> key{Str("rnn")};
  key.insert(key.end(), node.arguments.begin() + ptrdiff_t(first), node.arguments.end());
  return key;
}

void run_rnn(Lowering& to, const RecurrentLayer& layer, const Layout& outputs) {
  to.product(as_places(layer, layer.x), transposed(layer.weight_ih), bias_of(to, layer), outputs.root);
  const ValueId panels = to.panels(transposed(layer.weight_hh));
  const bool by_samples = are_apart(to, {&layer.h, &outputs});
  const Rows rows{layer.batch, layer.hidden, by_samples};
  call(
      to, rows.split(), {to.touched(layer.h, by_samples), to.touched(outputs, by_samples), {panels, false}},
      {to.touched(outputs, by_samples)}, named(to, layer),
      [=, is_relu = is_relu(to.node()), products = &to.products()](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        if (begin == end) return;
        run_forward({layer, begin, end, *products}, is_relu, floats(memory, layer.h),
                    reinterpret_cast<const float*>(memory[panels]), floats(memory, outputs));
      },
      0, false);
}

bool rnn(Lowering& to) {
  const std::vector<ValueId>& results = to.node().results;
  const Option<RecurrentLayer> layer = results[0] == kNone ? std::nullopt : layer_of(to, 0, 1);
  if (!layer) return false;
  const Layout outputs = to.layout(results[0]);
  run_rnn(to, *layer, outputs);
  to.leave(key_of_rnn(to.node(), 0), {outputs.root});
  if (results[1] != kNone) to.lay_out(1, last_of(*layer, outputs));
  return true;
}

bool rnn_backward(Lowering& to) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0), to.argument(1)})) return false;
  const Option<RecurrentLayer> found = layer_of(to, 2, 1);
  if (!found) return false;
  const RecurrentLayer& layer = *found;
  const Ints sizes{layer.batch, layer.moments, layer.hidden};
  const std::vector<ValueId>* const left = to.left(key_of_rnn(node, 2));
  const Layout outputs = left != nullptr ? dense(left->front(), sizes) : new_values(to, sizes);
  if (left == nullptr) run_rnn(to, layer, outputs);
  const Layout by_y = given_or_none(to, to.argument(0)), by_last = given_or_none(to, to.argument(1)),
               by_first = result_or_new(to, 1, {layer.batch, layer.hidden}), by_sums = new_values(to, sizes),
               before = new_values(to, sizes);
  const ValueId panels = to.panels(layer.weight_hh);
  bool by_samples = are_apart(to, {&layer.h, &outputs, &by_first, &by_sums, &before});
  for (const Layout* one : {&by_y, &by_last}) by_samples = by_samples && (one->root == kNone || to.is_apart(*one));
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  const Rows rows{layer.batch, layer.hidden, by_samples};
  call(
      to, rows.split(), {own(layer.h), own(outputs), own(by_y), own(by_last), {panels, false}},
      {own(by_first), own(by_sums), own(before)}, named(to, layer),
      [=, is_relu = is_relu(node), products = &to.products()](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        if (begin == end) return;
        float* const carried = floats(memory, by_first) + begin * layer.hidden;
        const auto bytes = size_t((end - begin) * layer.hidden) * sizeof(float);
        if (by_last.root == kNone)
          std::memset(carried, 0, bytes);
        else
          std::memcpy(carried, floats(memory, by_last) + begin * layer.hidden, bytes);
        run_back({layer, begin, end, *products}, is_relu, reinterpret_cast<const float*>(memory[panels]),
                 {floats(memory, layer.h), floats(memory, outputs), floats_or_null(memory, by_y),
                  floats(memory, by_first), floats(memory, by_sums), floats(memory, before)});
      },
      0, false);
  const std::vector<ValueId>& results = node.results;
  const Layout by_places = as_places(layer, by_sums);
  if (results[0] != kNone) to.product(by_places, layer.weight_ih, {}, results[0]);
  if (results[2] != kNone) to.product(transposed(by_places), as_places(layer, layer.x), {}, results[2]);
  if (results[3] != kNone) to.product(transposed(by_places), as_places(layer, before), {}, results[3]);
  for (const size_t at : {size_t(4), size_t(5)}) {
    if (layer.bias_ih.root == kNone || results[at] == kNone) continue;
    sum_along(to, by_places, 0, 1, to.layout(results[at]));
  }
  return true;
}

}  // namespace

bool lower_rnn(Lowering& to) {
  switch (to.node().op) {
    case Op::rnn: return rnn(to);
    case Op::rnn_backward: return rnn_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
