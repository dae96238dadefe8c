#pragma once

// Rows from outside (`predict --read`) as the records of a stream's source.

#include "runtime/data/stream.h"

namespace ltr {

/// Reads all rows of `file` (`.jsonl`, `.csv`, `.npy`; `-` is JSON lines on stdin) as records of `schema`. Fields that
/// a row lacks are zeros of their type: they only feed what the step does not read. R3001 to R3003.
Stream rows_source(const Str& file, const Schema& schema);

}  // namespace ltr
