#pragma once

// What a checkpoint holds at one instant, set aside while training goes on.

#include <map>
#include <set>

#include "runtime/checkpoint/folder.h"

namespace ltr {

/// Copies of tensors in host memory. Those of one time lie where those of the time before did: memory grows once.
class Shelf {
 public:
  /// The tensors of `data` become copies that nobody moves until the next call. What this rank does not write stays as it is.
  void put(CheckpointData& data);

 private:
  /// `place` names the tensor among all.
  at::Tensor copy(const Str& place, const at::Tensor& tensor);

  std::map<Str, at::Tensor> places_;
  std::set<Str> taken_;  ///< by the call under way
};

}  // namespace ltr
