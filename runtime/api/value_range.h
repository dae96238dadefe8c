#pragma once

#include "ltr/api.h"

namespace ltr {

/// The rule of `path` in the table of ranges that `value` breaks, as `.ltr` says it: `epochs >= 1`; of a tuple or list, the
/// one that an element breaks. Nothing if it keeps to all of them, or is no number.
Option<Str> broken_range(const Str& path, const Value& value);

}  // namespace ltr
