#pragma once

// Losses of random steps.

#include "runtime/plan/random_step.h"

namespace ltr::plan::random_step {

inline void make_loss(RandomStep& s) {
  static constexpr const char* kReductions[] = {"mean", "sum"};
  const Str by = s.rng.one_of(kReductions);
  const Tensor x = s.some(1);
  Tensor y = s.beside(x);
  if (sizes_of(y) != sizes_of(x)) y = s.leaf(sizes_of(x));
  switch (s.rng.from(0, 9)) {
    case 0:
    case 1: {
      const Tensor logits = s.some(2);
      const int64_t classes = s.size(logits, 1);
      Ints places = sizes_of(logits);
      places.erase(places.begin() + 1);
      const Tensor target = s.whole(places, 0, classes - 1);
      const Tensor weight = s.rng.chance(0.6) ? Tensor() : stop_grad(s.leaf({classes}, 0.5, 2));
      // At least one place counts: of none the mean is no number.
      Option<int64_t> ignored;
      if (s.rng.chance(0.3)) ignored = (aten(target).flatten()[0].item<int64_t>() + 1) % (classes + 1);
      if (s.rng.chance(0.3)) return s.keep(nll(log_softmax(logits, 1), target, weight, ignored, by));
      return s.keep(cross_entropy(logits, target, weight, ignored, s.rng.chance(0.6) ? 0 : 0.1, by));
    }
    case 2: return s.keep(mse(x, y, by));
    case 3: return s.keep(l1(x, y, by));
    case 4: return s.keep(smooth_l1(x, y, s.rng.real(0.2, 1), by));
    case 5: return s.keep(huber(x, y, s.rng.real(0.2, 1), by));
    case 6: return s.keep(bce_with_logits(x, sigmoid(y), s.or_none(stop_grad(s.leaf({s.size(x, -1)}, 0.5, 2))), by));
    case 7: return s.keep(kl_div(log_softmax(x, -1), softmax(y, -1), s.rng.chance(0.3) ? "batchmean" : by));
    case 8: return s.keep(bce(sigmoid(x), sigmoid(y), by));
    default: return s.keep(poisson_nll(clamp(x, {}, 2), y, by));
  }
}

/// Of pairs, of overlaps, of what is told apart, and of sequences without places.
inline void make_pair_loss(RandomStep& s) {
  static constexpr const char* kReductions[] = {"mean", "sum"};
  const Str by = s.rng.one_of(kReductions);
  const int64_t width = s.rng.pick({1, 3, 4, 17});
  const Ints sizes{s.batch, width};
  const Tensor x = s.leaf(sizes), y = s.leaf(sizes), signs = give(In(sign(s.leaf({s.batch})))->detach());
  const double margin = s.rng.real(-0.3, 1);
  switch (s.rng.from(0, 8)) {
    case 0:
      return s.keep(
          soft_cross_entropy(x, softmax(y, 1), s.or_none(s.leaf({width}, 0.5, 2)), s.rng.chance(0.5) ? 0 : 0.1, by));
    case 1: return s.keep(gaussian_nll(x, y, s.leaf(s.rng.chance(0.5) ? sizes : Ints{s.batch, 1}, 0.1, 2), 1e-6, by));
    case 2: return s.keep(focal(x, s.whole({s.batch}, 0, width - 1), s.rng.pick({0, 1, 2}), by));
    case 3: return s.keep(dice(sigmoid(x), sigmoid(y), s.rng.real(0.1, 1)));
    case 4: return s.keep(hinge(x, expand(unsqueeze(signs, 1), sizes), margin, by));
    case 5: return s.keep(contrastive(x, y, s.rng.real(0.5, 2)));
    case 6: return s.keep(cosine_embedding(x, y, signs, margin, by));
    case 7: return s.keep(triplet_margin(x, y, s.leaf(sizes), margin, by));
    default: {
      const int64_t steps = s.rng.from(5, 9), most = s.rng.from(1, 2), classes = s.rng.from(2, 6);
      const Tensor log_probs = log_softmax(s.leaf({steps, s.batch, classes}, -2, 2), 2);
      return s.keep(ctc_each(log_probs, s.whole({s.batch, most}, 1, classes - 1), s.whole({s.batch}, 5, steps),
                             s.whole({s.batch}, 1, most), 0, s.rng.chance(0.5)));
    }
  }
}

}  // namespace ltr::plan::random_step
