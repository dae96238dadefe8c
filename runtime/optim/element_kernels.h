#pragma once

// Rules that move every element by itself, in f32, with one pass over memory. Weights and states are changed in place.
// Each rounds where ATen's ops round in PyTorch's loop for one tensor, so that training stays PyTorch's to the last digits:
// Adam divides by small numbers, and turns a last digit of a gradient near zero into a step.

#include <cstdint>

namespace ltr::optim {

/// A part of one weight, with its gradient and states.
struct Elements {
  float* weight = nullptr;
  const float* grad = nullptr;
  float* state[3] = {};  ///< in the order of `Rule::state_names`; null for those with a shape of their own
  int64_t count = 0;

  Elements part(int64_t begin, int64_t of_part) const {
    Elements part{.weight = weight + begin, .grad = grad + begin, .count = of_part};
    for (int i = 0; i < 3; i++) part.state[i] = state[i] == nullptr ? nullptr : state[i] + begin;
    return part;
  }
};

/// What comes first: g = sign · gradient + l2 · weight, weight = shrink · weight.
struct Decay {
  float sign = 1;    ///< -1 to maximize
  float l2 = 0;      ///< weight decay as a part of the gradient
  float shrink = 1;  ///< 1 - lr · weight decay, where it is decoupled
};

struct AdamNumbers {
  float fresh1;  ///< 1 - β1
  float beta2;
  float fresh2;     ///< 1 - β2
  float step_size;  ///< lr / (1 - β1^t)
  float root;       ///< sqrt(1 - β2^t)
  float eps;
};
struct AdamaxNumbers {
  float fresh1, beta2;
  float step_size;  ///< lr / (1 - β1^t)
  float eps;
};
struct SgdNumbers {
  float lr;
  float kept;   ///< of the buffer; without momentum there is none, and its pointer is null
  float taken;  ///< of the gradient: 1 - dampening
  bool nesterov;
};
struct RpropNumbers {
  float shrink, grow, least, most;
};
struct AdadeltaNumbers {
  float lr, kept, fresh, eps;  ///< kept: ρ, fresh: 1 - ρ
};
struct RmsPropNumbers {
  float lr, kept, fresh, eps;  ///< kept: α, fresh: 1 - α
  float momentum;              ///< without it there is no buffer
  int buffer, mean;            ///< which state these are; -1 where there are none
};
struct AdagradNumbers {
  float rate, eps;
};
struct NAdamNumbers {
  float fresh1, beta2, fresh2;
  float correction;        ///< 1 - β2^t
  float of_grad, of_mean;  ///< what the weight moves by of each
  float eps;
};
struct RAdamNumbers {
  float fresh1, beta2, fresh2;
  float correction;  ///< 1 - β1^t
  float lr;
  float root;       ///< sqrt(1 - β2^t)
  float rectified;  ///< the variance's; 0 while it is not known: then the mean alone moves
  float eps;
};
struct LionNumbers {
  float lr, weight_decay, fresh1, fresh2;
};
struct LambNumbers {
  float fresh1, beta2, fresh2;
  float correction1, correction2;  ///< 1 - β1^t, 1 - β2^t
  float eps, weight_decay;
};
struct LarsNumbers {
  float lr, weight_decay, momentum;
  float trust;  ///< what the gradient is multiplied by
};
/// A part of a row of a weight whose mean squared gradients are those of its row times those of their columns, over their mean.
struct FactoredRow {
  float* weight;
  const float* grad;     ///< times `sign`
  const float* columns;  ///< where nothing is factored each element has its own, and `row` and `mean` are 1
  int64_t count;
  float row, mean;
};
struct FactoredNumbers {
  float sign;          ///< -1 to maximize
  float least;         ///< of a mean square
  float shrink, rate;  ///< weight = shrink · weight - rate · direction
};

/// The functions for one instruction set.
struct ElementKernels {
  void (*adam)(const Elements&, const Decay&, const AdamNumbers&);
  void (*adamax)(const Elements&, const Decay&, const AdamaxNumbers&);
  void (*sgd)(const Elements&, const Decay&, const SgdNumbers&);
  void (*rprop)(const Elements&, const Decay&, const RpropNumbers&);
  void (*lion)(const Elements&, const LionNumbers&);
  /// What `squares` [2][count] are to be roots of, the mean square of gradients first; and the update by these roots.
  void (*adadelta_squares)(const Elements&, const Decay&, const AdadeltaNumbers&, float* squares);
  void (*adadelta)(const Elements&, const Decay&, const AdadeltaNumbers&, const float* roots);
  /// Likewise, with one root for each element.
  void (*rmsprop_squares)(const Elements&, const Decay&, const RmsPropNumbers&, float* squares);
  void (*rmsprop)(const Elements&, const Decay&, const RmsPropNumbers&, const float* roots);
  void (*adagrad_squares)(const Elements&, const Decay&, const AdagradNumbers&, float* squares);
  void (*adagrad)(const Elements&, const Decay&, const AdagradNumbers&, const float* roots);
  void (*nadam_squares)(const Elements&, const Decay&, const NAdamNumbers&, float* squares);
  void (*nadam)(const Elements&, const Decay&, const NAdamNumbers&, const float* roots);
  void (*radam_squares)(const Elements&, const Decay&, const RAdamNumbers&, float* squares);
  void (*radam)(const Elements&, const Decay&, const RAdamNumbers&, const float* roots);
  /// Both moments take in the gradient; gives what `squares` are to be roots of. The second one gives the same again, and moves nothing.
  void (*lamb_moments)(const Elements&, const LambNumbers&, float* squares);
  void (*lamb_squares)(const Elements&, const LambNumbers&, float* squares);
  /// Makes directions of roots, in place.
  void (*lamb_directions)(const Elements&, const LambNumbers&, float* roots);
  /// weight -= rate · direction.
  void (*lamb)(const Elements&, float rate, const float* directions);
  void (*lars)(const Elements&, const LarsNumbers&);
  /// The squares of the directions of Adafactor, summed; and the update by these directions.
  double (*factored_squares)(const FactoredRow&, const FactoredNumbers&);
  void (*factored)(const FactoredRow&, const FactoredNumbers&);
  /// sums += x²; and x goes its `part` of the way to `to`, or to the squares of `to`.
  void (*add_squares)(float* sums, const float* x, int64_t count);
  void (*go_towards)(float* x, const float* to, float part, int64_t count);
  void (*go_towards_squares)(float* x, const float* to, float part, int64_t count);
  /// Σ x².
  double (*squares)(const float* x, int64_t count);
  void (*scale)(float* x, float by, int64_t count);
};

/// Those for the instruction set that LibTorch computes with, or null where there are none.
const ElementKernels* element_kernels();

}  // namespace ltr::optim
