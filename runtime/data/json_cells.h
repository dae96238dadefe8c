#pragma once

// Values of JSON as cells of records.

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "runtime/data/foreign_tensor.h"

namespace ltr {

/// Whether a tensor of `sizes` is one of `field`.
bool sizes_fit(const FieldInfo& field, at::IntArrayRef sizes);

/// `json` as a value of `field`, of an image also `{"b64": "…"}`, the bytes of its file, null as a missing one of an option; Misfit, which names the field, if it is neither.
Cell cell_of(const nlohmann::json& json, const FieldInfo& field);

/// A line of JSON as the row of a record, by the names of its fields; Misfit if it is no object. `place` is its file and line.
nlohmann::json row_of(std::string_view line, const Str& place);

/// Throws what is wrong with a field, by its name: `is "many"`.
[[noreturn]] void refuse_field(const FieldInfo& field, const Str& what);

}  // namespace ltr
