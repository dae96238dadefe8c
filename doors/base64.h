#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ltr::doors {

/// The bytes that `text` stands for (RFC 4648, with its padding); nothing for what is no base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ltr::doors
