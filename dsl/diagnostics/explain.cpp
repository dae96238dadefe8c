#include "dsl/diagnostics/explain.h"

#include <span>

#include "dsl/source/embedded.h"

namespace ltr::diagnostics {

extern const std::span<const source::EmbeddedFile> explain_pages;

std::optional<std::string_view> explain(std::string_view code) {
  for (const source::EmbeddedFile& page : explain_pages) {
    if (page.name.substr(0, page.name.find('.')) == code) return page.text;
  }
  return std::nullopt;
}

}  // namespace ltr::diagnostics
