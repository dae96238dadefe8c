// Layers that read moment by moment, and their gradients. The products of all inputs are made at once; then each thread takes its
// samples through all moments; gradients of weights are products over all samples and moments.

#include <algorithm>
#include <cstring>

#include "runtime/kernels/gru.h"
#include "runtime/kernels/lstm.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/lower/recurrent.h"

namespace ltr::plan {

namespace {

/// The state that a layer begins with, so that each thread has its samples of it: those of some layers may lie in turn.
Layout state_of(Lowering& to, ValueId id) {
  const Layout given = to.side_by_side(to.layout(id), DType::F32);
  if (to.is_apart(given)) return given;
  const Layout copy = dense(to.temporary(DType::F32, given.count()), given.sizes);
  PointProgram program = Lowering::program(given.sizes);
  program.store(copy.root, DType::F32, program.load(given, DType::F32));
  to.add(std::move(program));
  return copy;
}

}  // namespace

Option<RecurrentLayer> layer_of(Lowering& to, size_t first, int64_t gates) {
  const Node& node = to.node();
  const size_t states = gates == 4 ? 2 : 1;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < states + 5; ++i) ids.push_back(node.value(first + i).id);
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool is_bias = i >= states + 3;
    if ((ids[i] == kNone && !is_bias) || !to.is_f32({ids[i]})) return std::nullopt;
  }
  if ((ids[states + 3] == kNone) != (ids[states + 4] == kNone)) return std::nullopt;
  const Ints& sizes = to.layout(ids[0]).sizes;
  if (sizes.size() != 3 || to.layout(ids[0]).count() == 0) return std::nullopt;
  RecurrentLayer layer;
  layer.x = to.side_by_side(to.layout(ids[0]), DType::F32);
  layer.h = state_of(to, ids[1]);
  if (states == 2) layer.c = state_of(to, ids[2]);
  layer.weight_ih = to.layout(ids[states + 1]);
  layer.weight_hh = to.side_by_side(to.layout(ids[states + 2]), DType::F32);
  layer.bias_ih = given_or_none(to, ids[states + 3]);
  layer.bias_hh = given_or_none(to, ids[states + 4]);
  layer.gates = gates;
  layer.batch = sizes[0];
  layer.moments = sizes[1];
  layer.hidden = layer.weight_hh.sizes[1];
  layer.is_reversed = std::get<bool>(node.arguments.back());
  return layer;
}

Layout new_values(Lowering& to, const Ints& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return dense(to.temporary(DType::F32, count), sizes);
}
Layout as_places(const RecurrentLayer& layer, const Layout& of) {
  return *reshaped(of, {layer.places(), of.sizes.back()});
}

bool are_apart(const Lowering& to, std::initializer_list<const Layout*> layouts) {
  return std::all_of(layouts.begin(), layouts.end(), [&](const Layout* one) { return to.is_apart(*one); });
}

Layout bias_of(Lowering& to, const RecurrentLayer& layer) {
  if (layer.bias_ih.root == kNone) return {};
  const Layout bias = new_values(to, {layer.width()});
  PointProgram program = Lowering::program(bias.sizes);
  program.store(bias.root, DType::F32,
                program.step(kernels::Point::add, program.load(layer.bias_ih, DType::F32),
                             program.load(layer.bias_hh, DType::F32)));
  to.add(std::move(program));
  return bias;
}

Layout last_of(const RecurrentLayer& layer, const Layout& outputs) {
  Layout last{outputs.root, outputs.offset + layer.last() * layer.hidden, {layer.batch, layer.hidden}, {}};
  last.strides = {layer.moments * layer.hidden, 1};
  return last;
}

Layout result_or_new(Lowering& to, size_t at, const Ints& sizes) {
  const ValueId id = to.node().results[at];
  return id == kNone ? new_values(to, sizes) : to.layout(id);
}

Str named(const Lowering& to, const RecurrentLayer& layer) {
  return fmt::format("[{}, {}, {}] {}", layer.batch, layer.moments, layer.hidden, name_of(to.node().op));
}

namespace {

using kernels::GruGradients;
using kernels::GruSequence;
using kernels::LstmGradients;
using kernels::LstmSequence;
using kernels::row_kernel;

bool is_lstm(const Lowering& to) { return to.node().op == Op::lstm || to.node().op == Op::lstm_backward; }

/// Of the node, from argument `first` on.
Option<RecurrentLayer> gated_layer(Lowering& to, size_t first) {
  if (is_lstm(to) && kernels::lstm_kernel() == nullptr) return std::nullopt;
  return layer_of(to, first, is_lstm(to) ? 4 : 3);
}

/// `weight_hh`, packed by `pack` once a step.
Layout packed(Lowering& to, const RecurrentLayer& layer, int64_t floats_of_it,
              void (*pack)(const float*, int64_t, float*)) {
  const Layout panels = new_values(to, {floats_of_it});
  call(to, Split::Alone, {{layer.weight_hh.root, false}}, {{panels.root, false}},
       fmt::format("[{}] pack", fmt::join(layer.weight_hh.sizes, ", ")),
       [=, weight = layer.weight_hh, hidden = layer.hidden](Memory memory, const Part&) {
         pack(floats(memory, weight), hidden, floats(memory, panels));
       });
  to.explain(fmt::format("once for {} moments", layer.moments), "in one go");
  return panels;
}

/// The sums that inputs alone make: x · weight_ihᵀ + bias.
Layout input_sums(Lowering& to, const RecurrentLayer& layer, const Layout& bias) {
  const Layout sums = new_values(to, {layer.places(), layer.width()});
  to.product(as_places(layer, layer.x), transposed(layer.weight_ih), bias, sums.root);
  return sums;
}

/// What a forward call leaves for the way back.
struct Kept {
  Layout gates, other;  ///< other: cells, or inner sums
  Layout outputs;
};

std::vector<Argument> key_of(const Lowering& to, size_t first) {
  std::vector<Argument> key{Str(is_lstm(to) ? "lstm" : "gru")};
  const std::vector<Argument>& arguments = to.node().arguments;
  key.insert(key.end(), arguments.begin() + ptrdiff_t(first), arguments.end());
  return key;
}
void leave(Lowering& to, const Kept& kept) {
  to.leave(key_of(to, 0), {kept.gates.root, kept.other.root, kept.outputs.root});
}

// ---- LSTM

LstmSequence sequence_of(Memory memory, const RecurrentLayer& layer, const Kept& kept) {
  return {.batch = layer.batch,
          .moments = layer.moments,
          .hidden = layer.hidden,
          .is_reversed = layer.is_reversed,
          .first_output = floats(memory, layer.h),
          .first_cell = floats(memory, layer.c),
          .gates = floats(memory, kept.gates),
          .cells = floats(memory, kept.other),
          .outputs = floats(memory, kept.outputs)};
}

/// The layer into `outputs`, with its last cell in `cell` where that has a root.
Kept run_lstm(Lowering& to, const RecurrentLayer& layer, const Layout& outputs, const Layout& cell) {
  const kernels::LstmKernel& kernel = *kernels::lstm_kernel();
  Kept kept{input_sums(to, layer, bias_of(to, layer)), new_values(to, {layer.batch, layer.moments, layer.hidden}),
            outputs};
  const Layout panels = packed(to, layer, kernel.packed_size(layer.hidden), kernel.pack_forward);
  const bool by_samples = are_apart(to, {&layer.h, &layer.c, &kept.gates, &kept.other, &outputs}) &&
                          (cell.root == kNone || to.is_apart(cell));
  const Rows rows{layer.batch, layer.hidden, by_samples};
  const auto own = [&](const Layout& layout) { return to.touched(layout, by_samples); };
  std::vector<Touched> writes{own(kept.gates), own(kept.other), own(outputs)};
  if (cell.root != kNone) writes.push_back(own(cell));
  call(
      to, rows.split(), {own(layer.h), own(layer.c), own(kept.gates), {panels.root, false}}, std::move(writes),
      named(to, layer),
      [=, &kernel](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        kernel.forward(sequence_of(memory, layer, kept), floats(memory, panels), begin, end,
                       reinterpret_cast<float*>(part.scratch));
        for (int64_t row = begin; row < end && cell.root != kNone; ++row)
          std::memcpy(floats(memory, cell) + row * layer.hidden,
                      floats(memory, kept.other) + (row * layer.moments + layer.last()) * layer.hidden,
                      size_t(layer.hidden) * sizeof(float));
      },
      2 * layer.batch * layer.hidden * 4, false);
  return kept;
}

bool lstm(Lowering& to) {
  const Option<RecurrentLayer> layer = gated_layer(to, 0);
  if (!layer) return false;
  const std::vector<ValueId>& results = to.node().results;
  if (results[0] == kNone) return false;
  const Layout outputs = to.layout(results[0]);
  const Layout cell = results[2] == kNone ? Layout() : to.layout(results[2]);
  leave(to, run_lstm(to, *layer, outputs, cell));
  if (results[1] != kNone) to.lay_out(1, last_of(*layer, outputs));
  return true;
}

// ---- GRU

GruSequence gru_sequence_of(Memory memory, const RecurrentLayer& layer, const Kept& kept) {
  return {.moments = layer.moments,
          .hidden = layer.hidden,
          .is_reversed = layer.is_reversed,
          .first_output = floats(memory, layer.h),
          .bias = floats_or_null(memory, layer.bias_hh),
          .gates = floats(memory, kept.gates),
          .inner = floats(memory, kept.other),
          .outputs = floats(memory, kept.outputs)};
}

Kept run_gru(Lowering& to, const RecurrentLayer& layer, const Layout& outputs) {
  const kernels::GruKernel& kernel = kernels::gru_kernel();
  Kept kept{input_sums(to, layer, layer.bias_ih), new_values(to, {layer.batch, layer.moments, layer.hidden}), outputs};
  const Layout panels = packed(to, layer, kernel.packed_size(layer.hidden), kernel.pack_forward);
  const bool by_samples = are_apart(to, {&layer.h, &kept.gates, &kept.other, &outputs});
  const Rows rows{layer.batch, layer.hidden, by_samples};
  const auto own = [&](const Layout& layout) { return to.touched(layout, by_samples); };
  call(
      to, rows.split(), {own(layer.h), own(kept.gates), {panels.root, false}, {layer.bias_hh.root, false}},
      {own(kept.gates), own(kept.other), own(outputs)}, named(to, layer),
      [=, &kernel](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        kernel.forward(gru_sequence_of(memory, layer, kept), floats(memory, panels), begin, end,
                       reinterpret_cast<float*>(part.scratch));
      },
      2 * layer.batch * layer.hidden * 4, false);
  return kept;
}

bool gru(Lowering& to) {
  const Option<RecurrentLayer> layer = gated_layer(to, 0);
  if (!layer) return false;
  const std::vector<ValueId>& results = to.node().results;
  if (results[0] == kNone) return false;
  const Layout outputs = to.layout(results[0]);
  leave(to, run_gru(to, *layer, outputs));
  if (results[1] != kNone) to.lay_out(1, last_of(*layer, outputs));
  return true;
}

// ---- gradients

/// What the calls of a way back read and write.
struct Back {
  Kept kept;
  bool is_left = false;  ///< by the forward call
  Layout by_y;           ///< no root: zero
  Layout by_last[2];     ///< by the last output and the last cell; no root: zero
  Layout by_first[2];    ///< by the first ones
  Layout by_gates;       ///< [batch, moments, gates hidden]
  Layout by_recurrent;   ///< likewise by the recurrent sums, which are others for a GRU
  Layout by_bias;        ///< [batch, gates hidden, once or for both sums]
  Layout before;         ///< [batch, moments, hidden], outputs
};

Back back_of(Lowering& to, const RecurrentLayer& layer) {
  const size_t states = is_lstm(to) ? 2 : 1;
  Back back;
  if (const std::vector<ValueId>* left = to.left(key_of(to, 1 + states))) {
    const Ints sizes{layer.batch, layer.moments, layer.hidden};
    back.kept = {dense((*left)[0], {layer.places(), layer.width()}), dense((*left)[1], sizes),
                 dense((*left)[2], sizes)};
    back.is_left = true;
  } else {
    const Layout outputs = new_values(to, {layer.batch, layer.moments, layer.hidden});
    back.kept = is_lstm(to) ? run_lstm(to, layer, outputs, {}) : run_gru(to, layer, outputs);
  }
  back.by_y = given_or_none(to, to.argument(0));
  for (size_t i = 0; i < states; ++i) {
    back.by_last[i] = given_or_none(to, to.argument(1 + i));
    back.by_first[i] = result_or_new(to, 1 + i, {layer.batch, layer.hidden});
  }
  back.by_gates = new_values(to, {layer.batch, layer.moments, layer.width()});
  back.by_recurrent = is_lstm(to) ? back.by_gates : new_values(to, back.by_gates.sizes);
  back.by_bias = new_values(to, {layer.batch, layer.width() * (is_lstm(to) ? 1 : 2)});
  back.before = new_values(to, {layer.batch, layer.moments, layer.hidden});
  return back;
}

/// `by_first` begins as `by_last`.
void start(Memory memory, const RecurrentLayer& layer, const Back& back, size_t state, int64_t begin, int64_t end) {
  float* const to = floats(memory, back.by_first[state]) + begin * layer.hidden;
  const auto bytes = size_t((end - begin) * layer.hidden) * sizeof(float);
  if (back.by_last[state].root == kNone)
    std::memset(to, 0, bytes);
  else
    std::memcpy(to, floats(memory, back.by_last[state]) + begin * layer.hidden, bytes);
}

/// The call that goes back through all moments, `body(memory, begin, end)` for rows of the batch.
template <class Body>
void add_back(Lowering& to, const RecurrentLayer& layer, const Back& back, const Layout& panels, const Body& body) {
  std::vector<const Layout*> from{&layer.h, &back.kept.gates, &back.kept.other, &back.kept.outputs},
      into{&back.by_gates, &back.by_recurrent, &back.by_bias, &back.before, &back.by_first[0]};
  if (is_lstm(to)) {
    from.push_back(&layer.c);
    into.push_back(&back.by_first[1]);
  }
  for (const Layout* one : {&back.by_y, &back.by_last[0], &back.by_last[1]}) {
    if (one->root != kNone) from.push_back(one);
  }
  bool by_samples = true;
  for (const auto* list : {&from, &into}) {
    for (const Layout* one : *list) by_samples = by_samples && to.is_apart(*one);
  }
  std::vector<Touched> reads{{panels.root, false}}, writes;
  for (const Layout* one : from) reads.push_back(to.touched(*one, by_samples));
  for (const Layout* one : into) {
    const Touched written = to.touched(*one, by_samples);
    if (std::find(writes.begin(), writes.end(), written) == writes.end()) writes.push_back(written);
  }
  const Rows rows{layer.batch, layer.hidden, by_samples};
  call(
      to, rows.split(), std::move(reads), std::move(writes), named(to, layer),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        for (size_t state = 0; state < (layer.gates == 4 ? 2 : 1); ++state)
          start(memory, layer, back, state, begin, end);
        body(memory, begin, end);
      },
      0, false);
  to.explain(back.is_left ? "with the gates that the way there left"
                          : "its way there is not in the step, and comes again");
}

/// Sums of lists over the batch; `at` and `width` say which part of each.
void sum_biases(Lowering& to, const Back& back, int64_t at, int64_t width, size_t result) {
  const ValueId id = to.node().results[result];
  if (id == kNone) return;
  const Layout out = to.layout(id);
  call(to, Split::Shares, {{back.by_bias.root, false}}, {{out.root, false}}, fmt::format("[{}] sums", width),
       [=, all = back.by_bias](Memory memory, const Part& part) {
         const auto [begin, end] = part.share(width);
         row_kernel().sum_columns(floats(memory, all) + at + begin, all.sizes[1], all.sizes[0], end - begin,
                                  floats(memory, out) + begin);
       });
}

/// The products of a way back: by x, and by the weights.
void add_products(Lowering& to, const RecurrentLayer& layer, const Back& back) {
  const size_t states = is_lstm(to) ? 2 : 1;
  const std::vector<ValueId>& results = to.node().results;
  const Layout by_gates = as_places(layer, back.by_gates), by_recurrent = as_places(layer, back.by_recurrent);
  if (results[0] != kNone) to.product(by_gates, layer.weight_ih, {}, results[0]);
  if (results[states + 1] != kNone)
    to.product(transposed(by_gates), as_places(layer, layer.x), {}, results[states + 1]);
  if (results[states + 2] != kNone)
    to.product(transposed(by_recurrent), as_places(layer, back.before), {}, results[states + 2]);
  if (layer.bias_ih.root == kNone) return;
  sum_biases(to, back, 0, layer.width(), states + 3);
  sum_biases(to, back, is_lstm(to) ? 0 : layer.width(), layer.width(), states + 4);
}

bool fits_back(const Lowering& to) {
  const size_t gradients = is_lstm(to) ? 3 : 2;
  for (size_t i = 0; i < gradients; ++i) {
    if (!to.is_f32({to.argument(i)})) return false;
  }
  return true;
}

bool lstm_backward(Lowering& to) {
  const Option<RecurrentLayer> found = fits_back(to) ? gated_layer(to, 3) : std::nullopt;
  if (!found) return false;
  const RecurrentLayer& layer = *found;
  const Back back = back_of(to, layer);
  const kernels::LstmKernel& kernel = *kernels::lstm_kernel();
  const Layout panels = packed(to, layer, kernel.packed_size(layer.hidden), kernel.pack_backward);
  add_back(to, layer, back, panels, [=, &kernel](Memory memory, int64_t begin, int64_t end) {
    const LstmGradients by{.outputs = floats_or_null(memory, back.by_y),
                           .gates = floats(memory, back.by_gates),
                           .output = floats(memory, back.by_first[0]),
                           .cell = floats(memory, back.by_first[1]),
                           .bias = floats(memory, back.by_bias),
                           .before = floats(memory, back.before)};
    kernel.backward(sequence_of(memory, layer, back.kept), by, floats(memory, panels), begin, end);
  });
  add_products(to, layer, back);
  return true;
}

bool gru_backward(Lowering& to) {
  const Option<RecurrentLayer> found = fits_back(to) ? gated_layer(to, 2) : std::nullopt;
  if (!found) return false;
  const RecurrentLayer& layer = *found;
  const Back back = back_of(to, layer);
  const kernels::GruKernel& kernel = kernels::gru_kernel();
  const Layout panels = packed(to, layer, kernel.packed_size(layer.hidden), kernel.pack_backward);
  add_back(to, layer, back, panels, [=, &kernel](Memory memory, int64_t begin, int64_t end) {
    const GruGradients by{.outputs = floats_or_null(memory, back.by_y),
                          .gates = floats(memory, back.by_gates),
                          .recurrent = floats(memory, back.by_recurrent),
                          .output = floats(memory, back.by_first[0]),
                          .bias = floats(memory, back.by_bias),
                          .before = floats(memory, back.before)};
    kernel.backward(gru_sequence_of(memory, layer, back.kept), by, floats(memory, panels), begin, end);
  });
  add_products(to, layer, back);
  return true;
}

}  // namespace

bool lower_recurrent(Lowering& to) {
  switch (to.node().op) {
    case Op::lstm: return lstm(to);
    case Op::gru: return gru(to);
    case Op::lstm_backward: return lstm_backward(to);
    case Op::gru_backward: return gru_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
