#pragma once

#include <optional>
#include <string>

#include "dsl/check/type.h"
#include "dsl/elaborate/instance.h"

namespace ltr::elaborate {

/// `text` as a value of an hparam's type, as the command line of the program takes it: `0.1`, `[7, [8, 9]]`,
/// `["a, b", "c"]`, `30 min`, and text without quotes. Nothing if it is none.
std::optional<Value> read_value(const check::Type& type, const std::string& text);

}  // namespace ltr::elaborate
