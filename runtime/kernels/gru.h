#pragma once

// The recurrent half of a GRU layer, as that of an LSTM (lstm.h).

#include <cstdint>

namespace ltr::kernels {

/// A layer over sequences. Tensors are f32, contiguous, batch first; the gates of a moment are r z n, as PyTorch's.
struct GruSequence {
  int64_t moments = 0;
  int64_t hidden = 0;
  bool is_reversed = false;             ///< reads from the last moment to the first
  const float* first_output = nullptr;  ///< [batch, hidden]
  const float* bias = nullptr;          ///< [3 hidden], of the recurrent products; or null
  float* gates = nullptr;               ///< [batch, moments, 3 hidden]
  float* inner = nullptr;               ///< [batch, moments, hidden], the recurrent sums of n
  float* outputs = nullptr;             ///< [batch, moments, hidden]
};

/// Gradients of a loss by a layer's values.
struct GruGradients {
  const float* outputs = nullptr;  ///< [batch, moments, hidden], or null for zero
  float* gates = nullptr;          ///< out: by the sums of inputs, before their activation
  float* recurrent = nullptr;      ///< out: likewise by the recurrent sums
  float* output = nullptr;         ///< [batch, hidden], in: by the last output, out: by the first
  float* bias = nullptr;           ///< out: [batch, 2, 3 hidden], by both kinds of sums, summed over moments
  float* before = nullptr;         ///< out: [batch, moments, hidden], the output that each moment began with
};

/// The functions for one instruction set. What a row gets does not hang on the rows beside it.
struct GruKernel {
  /// Floats that a packed `weight_hh` [3 hidden, hidden] takes.
  int64_t (*packed_size)(int64_t hidden);
  void (*pack_forward)(const float* weight, int64_t hidden, float* packed);
  void (*pack_backward)(const float* weight, int64_t hidden, float* packed);
  /// Rows [begin, end) of the batch. `gates` in: products of the inputs, plus biases; out: activated. `scratch` holds
  /// 2 hidden floats a row.
  /// r, z = σ(…), n = tanh(a + r b), h = n + z (h - n). Cho et al. 2014.
  void (*forward)(const GruSequence&, const float* packed, int64_t begin, int64_t end, float* scratch);
  /// Reads what `forward` left. `sequence` is not changed.
  void (*backward)(const GruSequence& sequence, const GruGradients&, const float* packed, int64_t begin, int64_t end);
};

const GruKernel& gru_kernel();

}  // namespace ltr::kernels
