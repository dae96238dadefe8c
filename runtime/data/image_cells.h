#pragma once

// Images as fields of records: `u8[3, ?, ?]` or `u8[1, ?, ?]` takes a file, or its bytes.

#include <string_view>

#include "ltr/api.h"

namespace ltr {

/// Whether a field is an image by its type.
bool is_image(const FieldInfo& field);
/// The image in `bytes`; Misfit if they are none, or of other sizes than the field says.
Cell image_of_bytes(std::string_view bytes, const FieldInfo& field);
/// The same of a file, whose name a message begins with.
Cell image_of_file(const Str& path, const FieldInfo& field);

}  // namespace ltr
