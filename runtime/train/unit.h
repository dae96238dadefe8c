#pragma once

// Weights that ranks divide together. They lie one behind the other in one row, which is cut into equal chunks, one for each
// rank. A rank's part of a weight is what of it lies in the rank's chunk.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ltr {

/// Elements of a weight, in their order.
struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

class Unit {
 public:
  /// All of one type. `keeps_whole`: no weight is cut, for whoever moves it looks at all of it; chunks have gaps then.
  Unit(std::vector<at::Tensor> weights, bool keeps_whole, int64_t ranks);

  const std::vector<at::Tensor>& weights() const { return weights_; }
  int64_t chunk() const { return chunk_; }  ///< elements of one rank
  int64_t size() const { return chunk_ * ranks_; }
  at::TensorOptions options() const;

  /// What `rank` has of the weight `member`.
  Stretch stretch(size_t member, int64_t rank) const;
  /// The weight `member` in the row `whole`, in its shape.
  at::Tensor in_row(const at::Tensor& whole, size_t member) const;
  /// The part of the weight `member` in the chunk of `rank`: in its shape if all of it is there, in one row if some of it
  /// is, else undefined.
  at::Tensor in_chunk(const at::Tensor& chunk, size_t member, int64_t rank) const;

 private:
  void lay_in_order();
  void lay_uncut();

  std::vector<at::Tensor> weights_;
  std::vector<int64_t> begins_;  ///< in the row
  int64_t ranks_;
  int64_t chunk_ = 0;
};

}  // namespace ltr
