#pragma once

// Cross entropy of scores over classes with the ids of those that are meant.

#include <cstdint>

namespace ltr::kernels {

/// What a place costs: with s = log Σ exp x - x, w the weights of the classes and t the class that is meant,
/// (1 - smoothing) w[t] s[t] + smoothing / count · Σ w s; 0 where t is ignored. Szegedy et al. 2016, section 7.
struct Classes {
  int64_t count = 0;
  const float* weight = nullptr;  ///< of each; null: all 1
  float weights = 0;              ///< Σ of them
  int64_t ignored = 0;
  float smoothing = 0;

  float weight_of(int64_t target) const { return target == ignored ? 0 : weight == nullptr ? 1 : weight[target]; }
};

/// Where scores lie: those of a place `stride` apart, and its first one `step` behind that of the place in front.
struct ClassPlaces {
  int64_t stride = 1, step = 1;
};

/// `rows` goes along the scores of a place, which lie side by side, those of the next place behind them; `planes` goes along places, where
/// these lie side by side or classes are few, and its `line` has room for 16 floats of each class. What a place gets does not hang on the
/// places beside it.
struct ClassKernel {
  /// What each costs; false if a target is no class.
  bool (*rows)(const Classes& of, const float* x, const int64_t* target, int64_t count, float* cost);
  bool (*planes)(const Classes& of, const float* x, const ClassPlaces& lie, const int64_t* target, int64_t count,
                 float* line, float* cost);
  /// by_x: the gradient of it, times `scale`. Targets are classes.
  void (*rows_slope)(const Classes& of, const float* x, const int64_t* target, int64_t count, float scale, float* by_x);
  void (*planes_slope)(const Classes& of, const float* x, const ClassPlaces& lie, const int64_t* target, int64_t count,
                       float scale, float* line, float* by_x);
};

const ClassKernel& class_kernel();

}  // namespace ltr::kernels
