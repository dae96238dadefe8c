#pragma once

// What all pages are put together of.

#include <string>
#include <string_view>

namespace ltr::doors {

/// A whole page.
std::string framed(const std::string& title, const std::string& body);
std::string script(std::string_view text);
/// A cell of a table.
std::string cell(const std::string& text, bool is_number = false);

/// From a page that a server gives to its list.
inline constexpr std::string_view kWayBack = "<nav><a href=\"/\">all runs</a> <span id=\"note\"></span></nav>\n";

}  // namespace ltr::doors
