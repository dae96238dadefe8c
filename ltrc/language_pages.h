#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ltr::driver {

/// A section of docs/language. The words in backticks of its heading are those that it explains.
struct LanguageSection {
  std::string page;  ///< `statements.md`
  std::vector<std::string> words;
  std::string text;  ///< Markdown from the heading to the next one of its level, links without targets
};

/// All sections that explain words, in the order of pages and lines.
const std::vector<LanguageSection>& language_sections();
/// Those that explain `word`: some words have a meaning in several places. Of several words, such as `log image`, those that
/// explain the last one and hold all of them.
std::vector<const LanguageSection*> find_sections(std::string_view word);

}  // namespace ltr::driver
