#pragma once

// Text for pages.

#include <string>
#include <string_view>

namespace ltr::doors {

/// `text` as it stands between tags, and in an attribute in double quotes.
std::string escape_html(std::string_view text);

}  // namespace ltr::doors
