#pragma once

// Values of JSON as cells of records.

#include "runtime/data/foreign_tensor.h"

namespace ltr {

/// `json` as a value of `field`, null as a missing one of an option; Misfit if it is neither.
Cell cell_of(const nlohmann::json& json, const FieldInfo& field);

/// Throws what is wrong with a field, by its name.
[[noreturn]] void refuse_field(const FieldInfo& field, const Misfit& misfit);

}  // namespace ltr
