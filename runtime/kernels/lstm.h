#pragma once

// The recurrent half of an LSTM layer: what hangs on the output before. All moments of a part of the batch in one call,
// so that threads meet once in a layer, not at every moment.

#include <cstdint>

namespace ltr::kernels {

/// A layer over sequences. Tensors are f32, contiguous, batch first; the gates of a moment are i f g o, as PyTorch's.
struct LstmSequence {
  int64_t batch = 0;
  int64_t moments = 0;
  int64_t hidden = 0;
  bool is_reversed = false;             ///< reads from the last moment to the first
  const float* first_output = nullptr;  ///< [batch, hidden]
  const float* first_cell = nullptr;    ///< [batch, hidden]
  float* gates = nullptr;               ///< [batch, moments, 4 hidden]
  float* cells = nullptr;               ///< [batch, moments, hidden]
  float* outputs = nullptr;             ///< [batch, moments, hidden]
};

/// Gradients of a loss by a layer's values.
struct LstmGradients {
  const float* outputs = nullptr;  ///< [batch, moments, hidden], or null for zero
  float* gates = nullptr;          ///< out: by the gates before their activation
  float* output = nullptr;         ///< [batch, hidden], in: by the last output, out: by the first
  float* cell = nullptr;           ///< [batch, hidden], in: by the last cell, out: by the first
  float* bias = nullptr;           ///< out: [batch, 4 hidden], by the gates, summed over moments; or null
  float* before = nullptr;         ///< out: [batch, moments, hidden], the output that each moment began with; or null
};

/// The functions for one instruction set. What a row gets does not hang on the rows beside it.
struct LstmKernel {
  /// Floats that a packed `weight_hh` [4 hidden, hidden] takes.
  int64_t (*packed_size)(int64_t hidden);
  void (*pack_forward)(const float* weight, int64_t hidden, float* packed);
  void (*pack_backward)(const float* weight, int64_t hidden, float* packed);
  /// Rows [begin, end) of the batch. `gates` in: products of the inputs, plus biases; out: activated. `scratch` holds
  /// 2 hidden floats a row.
  /// i, f, o = σ(…), g = tanh(…), c = f c + i g, h = o tanh c. Hochreiter and Schmidhuber 1997, Gers et al. 2000.
  void (*forward)(const LstmSequence&, const float* packed, int64_t begin, int64_t end, float* scratch);
  /// Reads what `forward` left. `sequence` is not changed.
  void (*backward)(const LstmSequence& sequence, const LstmGradients&, const float* packed, int64_t begin, int64_t end);
};

/// The kernel for the instruction set that LibTorch computes with, or null where there is none.
const LstmKernel* lstm_kernel();

}  // namespace ltr::kernels
