#pragma once

// `net = resnet18(10) from "weights.safetensors" { … }`, as generated code calls it.

#include "ltr/api.h"

namespace ltr {

struct LoadRule {
  enum Kind : uint8_t { Rename, Skip, Freeze } kind;
  const char* pattern;
  const char* replacement;  ///< Rename
};

/// Fills the weights and buffers at and below `place` from a file (doors.md 1.1, 1.2), which a
/// relative `path` names from the folders of the program first. Weights that `Freeze` matches are
/// not trained. R2010 at `location` if the file is not there, cannot be used, or does not fit.
LTR_EXPORT void load_weights(const Scope& place, const Str& path, const std::vector<LoadRule>& rules,
                             const Location& location);

}  // namespace ltr
