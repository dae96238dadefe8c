#include "runtime/tensor/lstm_node.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <array>

#include "runtime/kernels/lstm.h"
#include "runtime/tensor/parallel.h"
#include "runtime/tensor/product.h"

namespace ltr {

namespace {

using kernels::LstmGradients;
using kernels::LstmKernel;
using kernels::LstmSequence;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

using LstmOutputs = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// In the order of LstmInputs; autograd's edges go by it.
enum LstmEdge : uint8_t { kX, kH, kC, kWeightIh, kWeightHh, kBiasIh, kBiasHh, kLstmEdges };

using LstmTensors = std::array<at::Tensor, kLstmEdges>;

LstmTensors tensors_of(const LstmInputs& in) {
  return {in.x, in.h, in.c, in.weight_ih, in.weight_hh, in.bias_ih, in.bias_hh};
}

bool fits_kernel(const LstmTensors& tensors) {
  return std::ranges::all_of(tensors,
                             [](const at::Tensor& tensor) {
                               return !tensor.defined() || (tensor.is_cpu() && tensor.scalar_type() == at::kFloat);
                             }) &&
         tensors[kX].numel() > 0;
}

/// Rows that make a second thread worth waking.
int64_t rows_per_thread(const LstmSequence& s) {
  constexpr int64_t kLeastProducts = 500'000;
  return std::max<int64_t>(1, kLeastProducts / std::max<int64_t>(1, s.moments * 4 * s.hidden * s.hidden));
}

at::Tensor packed_for(const LstmKernel& kernel, const at::Tensor& weight_hh,
                      void (*pack)(const float*, int64_t, float*)) {
  const at::Tensor rows = weight_hh.contiguous();
  at::Tensor packed = at::empty({kernel.packed_size(rows.size(1))}, rows.options());
  pack(rows.const_data_ptr<float>(), rows.size(1), packed.mutable_data_ptr<float>());
  return packed;
}

LstmSequence sequence_of(const at::Tensor& gates, const at::Tensor& cells, const at::Tensor& outputs,
                         const at::Tensor& h, const at::Tensor& c, bool is_reversed) {
  return {.batch = outputs.size(0),
          .moments = outputs.size(1),
          .hidden = outputs.size(2),
          .is_reversed = is_reversed,
          .first_output = h.const_data_ptr<float>(),
          .first_cell = c.const_data_ptr<float>(),
          .gates = gates.mutable_data_ptr<float>(),
          .cells = cells.mutable_data_ptr<float>(),
          .outputs = outputs.mutable_data_ptr<float>()};
}

/// The same layer moment by moment, in ops whose gradients autograd can differentiate again.
LstmOutputs moment_by_moment(const LstmTensors& in, bool is_reversed) {
  at::Tensor h = in[kH], c = in[kC];
  const int64_t moments = in[kX].size(1);
  std::vector<at::Tensor> outputs(static_cast<size_t>(moments));
  for (int64_t step = 0; step < moments; ++step) {
    const int64_t moment = is_reversed ? moments - 1 - step : step;
    const at::Tensor sums =
        at::linear(in[kX].select(1, moment), in[kWeightIh], in[kBiasIh]) + at::linear(h, in[kWeightHh], in[kBiasHh]);
    const std::vector<at::Tensor> gates = sums.chunk(4, 1);
    c = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
    h = gates[3].sigmoid() * c.tanh();
    outputs[static_cast<size_t>(moment)] = h;
  }
  return {at::stack(outputs, 1), h, c};
}

struct LstmBackward : public torch::autograd::Node {
  variable_list apply(variable_list&& grads) override {
    LstmTensors in;
    for (size_t i = 0; i < kLstmEdges; ++i) in[i] = inputs_[i].unpack();
    return c10::GradMode::is_enabled() ? differentiable(in, grads) : by_kernel(in, grads);
  }
  void release_variables() override {
    for (SavedVariable& input : inputs_) input.reset_data();
    gates_ = cells_ = at::Tensor();
    outputs_.reset_data();
  }
  std::string name() const override { return "Lstm"; }

  /// A gradient of the gradient: through autograd's own ops.
  variable_list differentiable(const LstmTensors& in, const variable_list& grads) const {
    const auto [y, h, c] = moment_by_moment(in, is_reversed_);
    variable_list outputs, wanted, by;
    for (const auto& [output, grad] : {std::pair{y, grads[0]}, {h, grads[1]}, {c, grads[2]}}) {
      if (!grad.defined()) continue;
      outputs.push_back(output);
      by.push_back(grad);
    }
    std::vector<size_t> places;
    for (size_t i = 0; i < kLstmEdges; ++i) {
      if (!in[i].defined() || !in[i].requires_grad()) continue;
      wanted.push_back(in[i]);
      places.push_back(i);
    }
    const variable_list found = torch::autograd::grad(outputs, wanted, by, true, true, true);
    variable_list result(kLstmEdges);
    for (size_t i = 0; i < places.size(); ++i) result[places[i]] = found[i];
    return result;
  }

  variable_list by_kernel(const LstmTensors& in, const variable_list& grads) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const LstmKernel& kernel = *kernels::lstm_kernel();
    const at::Tensor y = outputs_.unpack(shared_from_this());
    const int64_t batch = y.size(0), moments = y.size(1), hidden = y.size(2);
    const at::Tensor by_outputs = grads[0].defined() ? grads[0].contiguous() : at::Tensor();
    const auto last = [&](const at::Tensor& grad) {
      return grad.defined() ? grad.clone(at::MemoryFormat::Contiguous) : at::zeros({batch, hidden}, y.options());
    };
    const at::Tensor by_h = last(grads[1]), by_c = last(grads[2]);
    const at::Tensor by_gates = at::empty({batch, moments, 4 * hidden}, y.options());
    const at::Tensor packed = packed_for(kernel, in[kWeightHh], kernel.pack_backward);
    const at::Tensor h = in[kH].contiguous(), c = in[kC].contiguous();
    const LstmSequence sequence = sequence_of(gates_, cells_, y, h, c, is_reversed_);
    const LstmGradients by{.outputs = by_outputs.defined() ? by_outputs.const_data_ptr<float>() : nullptr,
                           .gates = by_gates.mutable_data_ptr<float>(),
                           .output = by_h.mutable_data_ptr<float>(),
                           .cell = by_c.mutable_data_ptr<float>()};
    parallel_for(0, batch, rows_per_thread(sequence), [&](int64_t begin, int64_t end) {
      kernel.backward(sequence, by, packed.const_data_ptr<float>(), begin, end);
    });
    return by_inputs(in, y, by_gates.view({batch * moments, 4 * hidden}), by_h, by_c);
  }

  variable_list by_inputs(const LstmTensors& in, const at::Tensor& y, const at::Tensor& by_gates,
                          const at::Tensor& by_h, const at::Tensor& by_c) {
    // Products over all rows and moments. The smaller factor is turned; libraries are fastest so.
    const auto weight_gradient = [&](const at::Tensor& turned) {
      return product(turned, by_gates.t()).t().contiguous();
    };
    variable_list result(kLstmEdges);
    if (task_should_compute_output(kX)) result[kX] = product(by_gates, in[kWeightIh].t()).view(in[kX].sizes());
    if (task_should_compute_output(kH)) result[kH] = by_h;
    if (task_should_compute_output(kC)) result[kC] = by_c;
    if (task_should_compute_output(kWeightIh))
      result[kWeightIh] = weight_gradient(in[kX].flatten(0, 1).t().contiguous());
    if (task_should_compute_output(kWeightHh)) result[kWeightHh] = weight_gradient(outputs_before(y, in[kH]));
    const bool wants_ih = in[kBiasIh].defined() && task_should_compute_output(kBiasIh);
    const bool wants_hh = in[kBiasHh].defined() && task_should_compute_output(kBiasHh);
    const at::Tensor by_bias = wants_ih || wants_hh ? by_gates.sum(0) : at::Tensor();
    if (wants_ih) result[kBiasIh] = by_bias;
    if (wants_hh) result[kBiasHh] = wants_ih ? by_bias.clone() : by_bias;
    return result;
  }

  /// The output that each moment of each row began with, turned: [hidden, batch · moments].
  at::Tensor outputs_before(const at::Tensor& y, const at::Tensor& h) const {
    const int64_t others = y.size(1) - 1;
    const at::Tensor first = h.unsqueeze(1);
    const at::Tensor before =
        is_reversed_ ? at::cat({y.narrow(1, 1, others), first}, 1) : at::cat({first, y.narrow(1, 0, others)}, 1);
    return before.flatten(0, 1).t().contiguous();
  }

  std::array<SavedVariable, kLstmEdges> inputs_;
  at::Tensor gates_;  ///< [batch, moments, 4 hidden], activated
  at::Tensor cells_;  ///< [batch, moments, hidden]
  SavedVariable outputs_;
  bool is_reversed_ = false;
};

}  // namespace

std::optional<LstmOutputs> lstm_node(const LstmInputs& inputs) {
  const LstmKernel* const kernel = kernels::lstm_kernel();
  const LstmTensors in = tensors_of(inputs);
  if (kernel == nullptr || !fits_kernel(in)) return std::nullopt;
  const int64_t batch = inputs.x.size(0), moments = inputs.x.size(1), hidden = inputs.weight_hh.size(1);
  const auto options = inputs.x.options();
  at::Tensor gates, cells, y, last_h, last_c;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor bias = inputs.bias_ih.defined() ? inputs.bias_ih + inputs.bias_hh : at::Tensor();
    gates = product(inputs.x.reshape({batch * moments, -1}), inputs.weight_ih, bias);
    cells = at::empty({batch, moments, hidden}, options);
    y = at::empty({batch, moments, hidden}, options);
    const at::Tensor packed = packed_for(*kernel, inputs.weight_hh, kernel->pack_forward);
    const at::Tensor h = inputs.h.contiguous(), c = inputs.c.contiguous();
    const at::Tensor scratch = at::empty({batch, 2 * hidden}, options);
    const LstmSequence sequence = sequence_of(gates, cells, y, h, c, inputs.is_reversed);
    parallel_for(0, batch, rows_per_thread(sequence), [&](int64_t begin, int64_t end) {
      kernel->forward(sequence, packed.const_data_ptr<float>(), begin, end,
                      scratch.mutable_data_ptr<float>() + begin * 2 * hidden);
    });
    const int64_t last = inputs.is_reversed ? 0 : moments - 1;
    last_h = y.select(1, last).clone();
    last_c = cells.select(1, last).clone();
  }
  const bool is_recorded = c10::GradMode::is_enabled() && std::ranges::any_of(in, [](const at::Tensor& tensor) {
                             return tensor.defined() && tensor.requires_grad();
                           });
  if (is_recorded) {
    const std::shared_ptr<LstmBackward> node(new LstmBackward(), torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(in[kX], in[kH], in[kC], in[kWeightIh], in[kWeightHh],
                                                             in[kBiasIh], in[kBiasHh]));
    for (size_t i = 0; i < kLstmEdges; ++i) node->inputs_[i] = SavedVariable(in[i], false);
    node->gates_ = gates;
    node->cells_ = cells;
    node->is_reversed_ = inputs.is_reversed;
    torch::autograd::set_history(y, node);
    torch::autograd::set_history(last_h, node);
    torch::autograd::set_history(last_c, node);
    node->outputs_ = SavedVariable(y, true);
  }
  return LstmOutputs(y, last_h, last_c);
}

}  // namespace ltr
