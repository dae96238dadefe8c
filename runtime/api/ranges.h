#pragma once

// The table of what numbers may be: `ranges.def`.

#include "ltr/api.h"

namespace ltr {

/// The rule that `value` breaks, as `.ltr` says it: `epochs >= 1`. Nothing if it keeps to all of its path.
Option<Str> broken_range(const Str& path, const Value& value);

}  // namespace ltr
