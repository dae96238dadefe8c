#pragma once

// The way from an update to the kernels of element_kernels.h.

#include <c10/util/FunctionRef.h>

#include <array>

#include "runtime/optim/element_kernels.h"
#include "runtime/optim/rule.h"

namespace ltr::optim {

inline constexpr int64_t kGrain = 1 << 15;  ///< elements that are worth a thread: some ten microseconds

/// Whether there are kernels here, and weight `i`, or all of them, with gradient and states, is f32 in one piece on the CPU.
bool fits_kernel(const Update& update, size_t i);
bool fits_kernel(const Update& update);

/// Moves weight `i` by `move`, on all threads where it is large; of a table with a sparse gradient its rows, one by one. False where it does not fit: then nothing was done, and
/// ATen's ops are to move it.
bool by_kernel(const Update& update, size_t i, c10::function_ref<void(const ElementKernels&, const Elements&)> move);

/// Likewise all weights at once, of which threads take parts: `move` is told which it is of.
bool by_kernel(const Update& update, c10::function_ref<void(const ElementKernels&, size_t i, const Elements&)> move);

/// Two sums over the elements of weight `i`, which fits, of what `part` gives for pieces of it, in an order that no number of threads changes.
using Sums = std::array<double, 2>;
Sums sums_by_kernel(const Update& update, size_t i,
                    c10::function_ref<Sums(const ElementKernels&, const Elements&)> part);

/// The squares of `count` numbers, summed in f32 by blocks.
double squares_by_kernel(const float* values, int64_t count);

/// The 2-norm of all of `list`, which no number of threads changes; nothing where these do not fit.
Option<double> norm_by_kernel(const TensorVec& list);
/// Each times `factor`. False where they do not fit: then nothing was done.
bool scale_by_kernel(const TensorVec& list, float factor);

/// `x` goes its `part` of the way to `to`, as `lerp_` has it. False where they do not fit: then nothing was done.
bool lerp_by_kernel(const at::Tensor& x, const at::Tensor& to, float part);

/// An update that needs square roots, `roots` of them for each element: `before` gives what they are of, `after` moves by them, and may write
/// over them. A piece at a time, which stays in the nearest cache.
void by_roots(const Elements& elements, int64_t roots,
              c10::function_ref<void(const Elements& piece, float* squares)> before,
              c10::function_ref<void(const Elements& piece, float* roots)> after);

/// The square roots of `count` numbers in place, those of `at::sqrt` to the last digit.
void square_roots(float* values, int64_t count);

/// Moves weight `i` by ATen's ops, `move(weight, gradient, states)`. On the CPU they get a piece at a time, which stays in a cache from
/// one op to the next, each thread its own.
void by_pieces(const Update& update, size_t i,
               c10::function_ref<void(at::Tensor weight, const at::Tensor& grad, TensorVec& state)> move);

}  // namespace ltr::optim
