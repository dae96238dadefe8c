#pragma once

// Records of a stream by the value that a field has.

#include <map>
#include <vector>

#include "runtime/data/stream.h"

namespace ltr {

/// The place of the field `by` in records, R3002 if there is none; `stage` is for messages.
size_t field_at(const Stream& stream, const Str& by, const char* stage);

/// The records of each value of the field `by`, in file order; under "" those that cannot be read, or lack it. With mock data all
/// are under "".
std::map<Str, std::vector<int64_t>> strata(const Stream& stream, const Str& by, const char* stage);

}  // namespace ltr
