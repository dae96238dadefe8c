#pragma once

// Chosen records of a stream, by a list of their numbers.

#include <vector>

#include "runtime/data/stream.h"

namespace ltr {

class Subset : public IndexStage {
 public:
  Subset(const Stream& inner, std::vector<int64_t> indices);
  int64_t size() const override { return int64_t(indices_.size()); }
  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.index = indices_[size_t(at.index)];
    return out;
  }

 private:
  std::vector<int64_t> indices_;
};

}  // namespace ltr
