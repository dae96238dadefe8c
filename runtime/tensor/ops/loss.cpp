#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/fused.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/loss_terms.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/range.h"

namespace ltr {

namespace {

at::Tensor reduced(const at::Tensor& each, const Str& name) { return name == "sum" ? at::sum(each) : at::mean(each); }

at::Tensor wide_aten(const Tensor& tensor) { return wide(In(tensor)); }

struct Rows {
  at::Tensor scores;  ///< [rows, classes]
  at::Tensor target;
};

/// Scores of pixels as those of rows, on a device: LibTorch's kernel for images has no deterministic form there.
Rows rows_of(const at::Tensor& scores, const at::Tensor& target) {
  if (scores.dim() <= 2 || scores.is_cpu()) return {scores, target};
  return {scores.movedim(1, -1).flatten(0, -2), target.flatten()};
}

/// Runs a loss over the classes of `scores`; R3007 for a target that is none of them.
template <class Body>
Tensor classed(const Tensor& target, const at::Tensor& scores, Option<int64_t> ignored, Body&& body) {
  return in_range(In(target), scores.size(scores.dim() > 1 ? 1 : 0), ignored, "class", true, body);
}

/// A mean over broadcast shapes would be the wrong loss in silence.
void check_same(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) {
    throw error_here(err::shape_check_failed,
                     fmt::format("the loss compares [{}] with [{}]", fmt::join(a.sizes().vec(), ", "),
                                 fmt::join(b.sizes().vec(), ", ")));
  }
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight, Option<int64_t> ignore_index,
                     double label_smoothing, const Str& reduction) {
  return guarded([&] {
    const In scores(logits);
    const int64_t ignored = ignore_index.value_or(kNoClass);
    // Saving the logits too costs memory that only small losses do not notice.
    constexpr int64_t kSmall = 1 << 16;
    const bool is_plain = !weight.defined() && label_smoothing == 0 && scores->dim() == 2 && In(target)->dim() == 1;
    if (is_plain && !precision().narrows && scores->numel() <= kSmall) {
      return classed(target, scores, ignore_index,
                     [&] { return give(cross_entropy_node(scores, In(target), reduction_of(reduction), ignored)); });
    }
    return classed(target, scores, ignore_index, [&] {
      const Rows rows = rows_of(wide_aten(logits), In(target));
      return give(at::cross_entropy_loss(rows.scores, rows.target, optional_aten(weight), reduction_of(reduction),
                                         ignored, label_smoothing));
    });
  });
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probs, const Tensor& weight, double label_smoothing,
                          const Str& reduction) {
  return guarded([&] {
    check_same(In(logits), In(probs));
    return give(at::cross_entropy_loss(wide_aten(logits), wide_aten(probs), optional_aten(weight),
                                       reduction_of(reduction), kNoClass, label_smoothing));
  });
}

Tensor nll(const Tensor& log_probs, const Tensor& target, const Tensor& weight, Option<int64_t> ignore_index,
           const Str& reduction) {
  return guarded([&] {
    return classed(target, In(log_probs), ignore_index, [&] {
      const Rows rows = rows_of(wide_aten(log_probs), In(target));
      return give(at::nll_loss_nd(rows.scores, rows.target, optional_aten(weight), reduction_of(reduction),
                                  ignore_index.value_or(kNoClass)));
    });
  });
}

Tensor bce(const Tensor& probs, const Tensor& target, const Str& reduction) {
  return guarded([&] {
    check_same(In(probs), In(target));
    return give(at::binary_cross_entropy(wide_aten(probs), wide_aten(target), {}, reduction_of(reduction)));
  });
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, const Tensor& pos_weight, const Str& reduction) {
  return guarded([&] {
    check_same(In(logits), In(target));
    return give(at::binary_cross_entropy_with_logits(wide_aten(logits), wide_aten(target), {},
                                                     optional_aten(pos_weight), reduction_of(reduction)));
  });
}

Tensor focal(const Tensor& logits, const Tensor& target, double gamma, const Str& reduction) {
  return guarded([&] {
    const at::Tensor log_probs = at::log_softmax(wide_aten(logits), 1);
    return in_range(In(target), log_probs.size(1), std::nullopt, "class", false, [&] {
      const at::Tensor of_target = at::gather(log_probs, 1, In(target)->unsqueeze(1)).squeeze(1);
      return give(reduced(-at::pow(1 - at::exp(of_target), gamma) * of_target, reduction));
    });
  });
}

Tensor dice(const Tensor& probs, const Tensor& target, double smooth) {
  return guarded([&] {
    check_same(In(probs), In(target));
    const at::Tensor p = wide_aten(probs);
    const at::Tensor y = wide_aten(target);
    const at::Tensor overlap = at::sum(p * y, 1);
    return give(at::mean(1 - (2 * overlap + smooth) / (at::sum(p, 1) + at::sum(y, 1) + smooth)));
  });
}

Tensor hinge(const Tensor& x, const Tensor& target, double margin, const Str& reduction) {
  return guarded([&] {
    check_same(In(x), In(target));
    return give(at::hinge_embedding_loss(wide_aten(x), In(target), margin, reduction_of(reduction)));
  });
}

Tensor ctc_each(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
  return guarded([&] {
    return give(at::ctc_loss(wide_aten(log_probs), In(targets), In(input_lengths), In(target_lengths), blank,
                             at::Reduction::None, zero_infinity));
  });
}

Tensor contrastive(const Tensor& a, const Tensor& b, double temperature) {
  return guarded([&] {
    const auto unit = [](const at::Tensor& x) {
      return x / at::clamp_min(at::linalg_vector_norm(x, 2, 1, true), 1e-12);
    };
    const at::Tensor scores = at::matmul(unit(wide_aten(a)), unit(wide_aten(b)).t()) / temperature;
    return give(at::cross_entropy_loss(scores, at::arange(scores.size(0), scores.options().dtype(at::kLong))));
  });
}

Tensor mse(const Tensor& x, const Tensor& target, const Str& reduction) {
  return guarded([&] {
    check_same(In(x), In(target));
    return give(at::mse_loss(wide_aten(x), wide_aten(target), reduction_of(reduction)));
  });
}

Tensor l1(const Tensor& x, const Tensor& target, const Str& reduction) {
  return guarded([&] {
    check_same(In(x), In(target));
    return give(at::l1_loss(wide_aten(x), wide_aten(target), reduction_of(reduction)));
  });
}

Tensor smooth_l1(const Tensor& x, const Tensor& target, double beta, const Str& reduction) {
  // As PyTorch's: LibTorch's own has another slope where both are equal.
  if (beta == 0) return l1(x, target, reduction);
  return guarded([&] {
    check_same(In(x), In(target));
    return give(at::smooth_l1_loss(wide_aten(x), wide_aten(target), reduction_of(reduction), beta));
  });
}

Tensor huber(const Tensor& x, const Tensor& target, double delta, const Str& reduction) {
  return guarded([&] {
    check_same(In(x), In(target));
    return give(at::huber_loss(wide_aten(x), wide_aten(target), reduction_of(reduction), delta));
  });
}

Tensor kl_div(const Tensor& log_probs, const Tensor& probs, const Str& reduction) {
  return guarded([&] {
    check_same(In(log_probs), In(probs));
    if (reduction != "batchmean") {
      return give(at::kl_div(wide_aten(log_probs), wide_aten(probs), reduction_of(reduction)));
    }
    const at::Tensor total = at::kl_div(wide_aten(log_probs), wide_aten(probs), at::Reduction::Sum);
    return give(total / (In(probs)->dim() > 0 ? double(In(probs)->size(0)) : 1.0));
  });
}

Tensor poisson_nll(const Tensor& log_rate, const Tensor& target, const Str& reduction) {
  return guarded([&] {
    check_same(In(log_rate), In(target));
    return give(
        at::poisson_nll_loss(wide_aten(log_rate), wide_aten(target), true, false, 1e-8, reduction_of(reduction)));
  });
}

Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance, double eps, const Str& reduction) {
  return guarded([&] {
    check_same(In(x), In(target));
    const at::Tensor v = wide_aten(variance);
    // As in PyTorch the floor lets the gradient pass. A variance below 0 is none.
    const at::Tensor floored = v + (at::where(v < 0, at::log(v), at::clamp_min(v, eps)) - v).detach();
    return give(reduced(0.5 * (at::log(floored) + at::square(wide_aten(x) - wide_aten(target)) / floored), reduction));
  });
}

Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target, double margin, const Str& reduction) {
  return guarded([&] {
    check_same(In(a), In(b));
    return give(at::cosine_embedding_loss(wide_aten(a), wide_aten(b), In(target), margin, reduction_of(reduction)));
  });
}

Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                      const Str& reduction) {
  return guarded([&] {
    return give(at::triplet_margin_loss(wide_aten(anchor), wide_aten(positive), wide_aten(negative), margin, 2, 1e-6,
                                        false, reduction_of(reduction)));
  });
}

}  // namespace ltr
