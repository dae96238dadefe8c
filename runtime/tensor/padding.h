#pragma once

// What is put around the axes of a convolution's input, which ATen wants to be alike in front of and behind each.

#include <ATen/ATen.h>

#include "ltr/tensor.h"

namespace ltr {

struct Padding {
  Ints both;  ///< what each axis has in front and behind
  Ints more;  ///< what one end has beyond that, as `constant_pad_nd` takes it: the last axis first; empty if no end has
};

/// Of `ends`: what stands in front of and behind the first axis of space, then the next.
inline Padding padding_of(const Ints& ends) {
  Padding padding;
  bool is_even = true;
  for (size_t i = 0; i + 1 < ends.size(); i += 2) {
    const int64_t both = std::min(ends[i], ends[i + 1]);
    padding.both.push_back(both);
    padding.more.insert(padding.more.begin(), {ends[i] - both, ends[i + 1] - both});
    is_even = is_even && ends[i] == ends[i + 1];
  }
  if (is_even) padding.more.clear();
  return padding;
}

/// `x` with what `padding` has at one end alone.
inline at::Tensor padded(const at::Tensor& x, const Padding& padding) {
  return padding.more.empty() ? x : at::constant_pad_nd(x, padding.more, 0);
}

/// A gradient of what `padded` gave, as one of what it was given.
inline at::Tensor cropped(const at::Tensor& gradient, Padding padding) {
  for (int64_t& one : padding.more) one = -one;
  return padded(gradient, padding);
}

}  // namespace ltr
