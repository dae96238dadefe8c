#pragma once

// Tensors that people give: nested lists of JSON, npy files.

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include "ltr/api.h"

namespace ltr {

/// What is wrong with a value, and where: `[1][0] is 2.5, which is no i64`.
struct Misfit {
  Str text;
};

/// A value as a message shows it: the start of a long one.
Str shown(const nlohmann::json& json);

/// The numbers of nested lists of equal lengths, in their order, as `type`. Misfit for what is ragged, no number, or
/// no value of `type`: nothing is rounded or wrapped. Booleans count as 0 and 1.
at::Tensor tensor_of_json(const nlohmann::json& json, at::ScalarType type);
/// What a file holds as `type`; Misfit if that takes floats to integers.
at::Tensor as_type(const at::Tensor& stored, at::ScalarType type, const Str& path);
/// The array in an npy file as `type`; Misfit if that takes floats to integers. Errors of the file as `reading` says.
at::Tensor tensor_of_npy(const Str& path, at::ScalarType type);
/// The array as it is stored.
at::Tensor tensor_of_npy(const Str& path);

}  // namespace ltr
