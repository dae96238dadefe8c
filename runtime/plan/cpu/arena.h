#pragma once

// The memory that plans run in.

#include <ATen/ATen.h>

namespace ltr::plan {

/// One for all plans of a run: of these one runs at a time, and nothing of it is read once another one does.
class Arena {
 public:
  /// At least so many bytes; what was there is lost where they are more than before.
  char* take(int64_t bytes) {
    if (!memory_.defined() || memory_.numel() < bytes) {
      memory_.reset();
      memory_ = at::empty({bytes}, at::kByte);
    }
    return static_cast<char*>(memory_.data_ptr());
  }
  /// Until it is taken again, others have the memory.
  void give_back() { memory_.reset(); }

 private:
  at::Tensor memory_;
};

}  // namespace ltr::plan
