#pragma once

// Records of any fields as bytes, and back, bit for bit.

#include <string_view>

#include "ltr/api.h"

namespace ltr {

/// Appends what `record` holds; tensors lie on the host.
void append_record(const Record& record, Str& out);
/// The record of `fields` fields that `bytes` are; false if they are none.
bool parse_record(std::string_view bytes, size_t fields, Record& out);

}  // namespace ltr
