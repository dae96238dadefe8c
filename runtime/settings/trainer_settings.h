#pragma once

#include <cstdint>
#include <functional>

#include "ltr/program.h"

namespace ltr {

/// How much of a stream is used: batches per rank, or a part of them. Both negative: all of it. 0 skips the role.
struct Limit {
  int64_t batches = -1;
  double fraction = -1;
};

/// The settings of `trainer {}` (runtime.md 2.1): a field for each row of `settings.def`, whose meaning stands there. A count
/// or a time (in seconds) that is not given is -1; a choice is its word.
struct TrainerSettings {
#define LTR_TRAINER(name, Field, type, written, initial, range, doc) Field name{};
#include "runtime/tables/settings.def"

  /// All as the table begins them.
  TrainerSettings();
  /// `value(path)` is what a run resolved for `trainer.…`.
  explicit TrainerSettings(const std::function<Value(const char* path)>& value);

  /// Whether a GPU's convolution algorithms are chosen by timing.
  bool times_algorithms() const { return benchmark == "true" || (benchmark == "auto" && deterministic == "false"); }
};

}  // namespace ltr
