#pragma once

#include <optional>
#include <string_view>

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include "ltr/api.h"

namespace ltr {

/// As in `.ltr`: `float`, `i64`.
const char* to_text(DType dtype);
/// The type that `to_text` names so.
std::optional<DType> dtype_named(std::string_view name);

/// As files of tensors name it (`F32`, `I64`); nothing for a name that is none of them.
std::optional<at::ScalarType> stored_type(std::string_view name);
/// What programs call it, `f32[8, 4]`.
Str shape_text(at::ScalarType type, at::IntArrayRef sizes);
/// "" for a type that no file holds.
const char* stored_name(at::ScalarType type);

}  // namespace ltr
