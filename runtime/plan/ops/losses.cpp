// Ops of graphs: gradients of losses over classes, and of rows that were looked up.

#include <ATen/ATen.h>

#include "runtime/plan/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/loss_terms.h"

namespace ltr::plan {

namespace {

/// Scores and targets with one row for each place.
struct Rows {
  at::Tensor scores;  ///< [rows, classes]
  at::Tensor target;
};
Rows rows_of(const at::Tensor& scores, const at::Tensor& target) {
  if (scores.dim() == 1) return {scores.unsqueeze(0), target.reshape({1})};
  if (scores.dim() == 2) return {scores, target};
  return {scores.movedim(1, -1).flatten(0, -2), target.flatten()};
}
at::Tensor from_rows(const at::Tensor& rows, const at::Tensor& like) {
  if (like.dim() == 1) return rows.squeeze(0);
  if (like.dim() == 2) return rows;
  return rows.reshape(like.movedim(1, -1).sizes()).movedim(-1, 1);
}

/// The gradient of the negative log of the chosen probability by the logarithms, one row each.
at::Tensor of_log_probs(const at::Tensor& gradient, const Rows& rows, const std::optional<at::Tensor>& weight,
                        int64_t reduction, int64_t ignored) {
  const auto [loss, total] = at::nll_loss_forward(rows.scores, rows.target, weight, reduction, ignored);
  return at::nll_loss_backward(gradient, rows.scores, rows.target, weight, reduction, ignored, total);
}

}  // namespace

// With smoothing ε the loss is (1 - ε) of that of the class and ε of the mean over all classes, weighted as the classes are.
Tensor cross_entropy_backward(const Tensor& gradient_, const Tensor& logits_, const Tensor& target_,
                              const Tensor& weight_, Option<int64_t> ignore_index, double smoothing,
                              const Str& reduction_name) {
  return guarded([&] {
    const at::Tensor gradient = aten(gradient_), logits = aten(logits_), weight = aten(weight_);
    const int64_t reduction = reduction_of(reduction_name), ignored = ignore_index.value_or(kNoClass);
    const Rows rows = rows_of(logits, aten(target_));
    const at::Tensor log_probs = at::log_softmax(rows.scores, 1);
    at::Tensor by_logs =
        of_log_probs(gradient * (1 - smoothing), {log_probs, rows.target}, optional_aten(weight_), reduction, ignored);
    if (smoothing > 0) {
      const int64_t classes = log_probs.size(1);
      const at::Tensor counts = rows.target.ne(ignored);
      at::Tensor each = counts.to(log_probs.scalar_type()).unsqueeze(1).expand_as(log_probs);
      if (weight.defined()) each = each * weight;
      at::Tensor share = gradient * (-smoothing / double(classes));
      if (reduction == at::Reduction::Mean) {
        const at::Tensor total = weight.defined() ? weight.index_select(0, at::where(counts, rows.target, 0))
                                                        .masked_fill(at::logical_not(counts), 0)
                                                        .sum()
                                                  : counts.sum().to(log_probs.scalar_type());
        share = share / total;
      }
      by_logs = by_logs + each * share;
    }
    return give(from_rows(at::_log_softmax_backward_data(by_logs, log_probs, 1, log_probs.scalar_type()), logits));
  });
}

Tensor nll_backward(const Tensor& gradient, const Tensor& log_probs, const Tensor& target, const Tensor& weight,
                    Option<int64_t> ignore_index, const Str& reduction) {
  return guarded([&] {
    const Rows rows = rows_of(aten(log_probs), aten(target));
    const Rows contiguous{rows.scores.contiguous(), rows.target.contiguous()};
    return give(from_rows(of_log_probs(aten(gradient), contiguous, optional_aten(weight), reduction_of(reduction),
                                       ignore_index.value_or(kNoClass)),
                          aten(log_probs)));
  });
}

// Where a target cannot be and counts as 0, nothing flows.
Tensor ctc_backward(const Tensor& gradient, const Tensor& log_probs_, const Tensor& targets_,
                    const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
  return guarded([&] {
    const at::Tensor log_probs = aten(log_probs_), targets = aten(targets_).to(log_probs.device(), at::kLong);
    const auto listed = [](const Tensor& lengths) {
      const at::Tensor numbers = aten(lengths).to(at::kCPU, at::kLong).contiguous();
      const auto* first = numbers.const_data_ptr<int64_t>();
      return Ints(first, first + numbers.numel());
    };
    const Ints steps = listed(input_lengths), words = listed(target_lengths);
    const auto [costs, alphas] = at::_ctc_loss(log_probs, targets, steps, words, blank, zero_infinity);
    return give(at::_ctc_loss_backward(aten(gradient).contiguous(), log_probs, targets, steps, words, costs, alphas,
                                       blank, zero_infinity));
  });
}

Tensor embedding_backward(const Tensor& gradient, const Tensor& index, int64_t rows) {
  return guarded([&] { return give(at::embedding_dense_backward(In(gradient), In(index), rows, -1, false)); });
}

}  // namespace ltr::plan
