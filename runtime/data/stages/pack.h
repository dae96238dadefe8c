#pragma once

#include "runtime/data/stream.h"

namespace ltr {

/// `pack` that keeps ids as far as `limit_bytes` reach: those of a larger stream are read again for each window.
Stream pack_within(const Stream& stream, int64_t n, int64_t end, int64_t limit_bytes);

}  // namespace ltr
