#pragma once

#include <nlohmann/json.hpp>

namespace ltr {

/// A manifest as this version writes it, from one of any older version.
nlohmann::json upgraded(nlohmann::json manifest);

}  // namespace ltr
