#pragma once

#include <optional>
#include <string_view>

namespace ltr::diagnostics {

/// The page of a code (`E0304`) in Markdown: cause, a wrong program, a right one.
std::optional<std::string_view> explain(std::string_view code);

}  // namespace ltr::diagnostics
