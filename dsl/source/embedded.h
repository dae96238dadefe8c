#pragma once

#include <string_view>

namespace ltr::source {

/// A file that `cmake/embed.cmake` put into the executable; `name` is its path below the base folder, `text` its bytes.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace ltr::source
