#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ltr::driver {

/// A section of docs/language.
struct LanguageSection {
  std::string page;                 ///< `statements.md`
  std::vector<std::string> words;   ///< of the language, in backticks in its heading: those that it explains
  std::vector<std::string> topics;  ///< the other words of its heading, small and without the `s` of a plural: `record`
  std::string text;                 ///< Markdown from the heading to the next one of its level, links without targets
};

/// All sections, in the order of pages and lines.
const std::vector<LanguageSection>& language_sections();
/// Those that explain `word`: some words have a meaning in several places. Of several words, such as `log image`, those that
/// explain the last one and hold all of them. Of a word that none explains, those with it as a topic.
std::vector<const LanguageSection*> find_sections(std::string_view word);

}  // namespace ltr::driver
