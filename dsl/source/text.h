#pragma once

#include <string>
#include <string_view>

#include "dsl/source/source_manager.h"

/// How dumps write places and strings.
namespace ltr::source {

/// `text` in quotes, with what cannot stand there escaped.
std::string quote(std::string_view text);
/// `3:1-3:9`
std::string to_text(const Range& range);

}  // namespace ltr::source
