#pragma once

// Looks at every op that runs while it lives, forward and backward, for the one that made what is not finite: `nan = raise` repeats a
// batch under it, `anomaly` runs all of them so.

#include <memory>

#include "runtime/api/error.h"

namespace ltr {

class Inspector {
 public:
  Inspector();
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  /// `error` at the `.ltr` line of the op that made a nan of numbers, or an infinity of finite ones, with what it was given: the one
  /// from which stems what an op took last that is not finite. `error` itself if every op was sound. A backward op has the line of its
  /// forward op.
  Error explained(Error error) const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr
