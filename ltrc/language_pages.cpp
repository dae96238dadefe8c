#include "ltrc/language_pages.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "dsl/source/embedded.h"

namespace ltr::driver {

/// docs/language: `statements.md`.
extern const std::span<const source::EmbeddedFile> language_pages;

namespace {

/// The `#` of a heading; 0 for another line.
size_t level_of(std::string_view line) {
  const size_t level = std::min(line.find_first_not_of('#'), line.size());
  return level < line.size() && line[level] == ' ' ? level : 0;
}

std::vector<std::string> words_of(std::string_view heading) {
  std::vector<std::string> words;
  for (size_t begin = heading.find('`'); begin != std::string_view::npos;) {
    const size_t end = heading.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    words.emplace_back(heading.substr(begin + 1, end - begin - 1));
    begin = heading.find('`', end + 1);
  }
  return words;
}

/// Small, and without the `s` of a plural.
std::string topic_of(std::string_view word) {
  std::string topic;
  for (const char c : word) topic += char(std::tolower(static_cast<unsigned char>(c)));
  if (topic.ends_with('s')) topic.pop_back();
  return topic;
}

/// What is in no backticks; shorter words are such as `of`.
std::vector<std::string> topics_of(std::string_view heading) {
  constexpr size_t kShortest = 4;
  std::vector<std::string> topics;
  bool is_quoted = false;
  for (size_t at = 0; at < heading.size(); ++at) {
    size_t end = at;
    while (end < heading.size() && std::isalpha(static_cast<unsigned char>(heading[end])) != 0) ++end;
    if (!is_quoted && end - at >= kShortest) topics.push_back(topic_of(heading.substr(at, end - at)));
    at = end;
    if (at < heading.size() && heading[at] == '`') is_quoted = !is_quoted;
  }
  return topics;
}

/// `[text](target)` as `text`: outside of its page a target leads nowhere.
std::string without_targets(std::string_view line) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    const size_t middle = line[at] == '[' ? line.find("](", at) : std::string_view::npos;
    const size_t end = middle != std::string_view::npos ? line.find(')', middle) : middle;
    if (end == std::string_view::npos) {
      out += line[at++];
      continue;
    }
    out += line.substr(at + 1, middle - at - 1);
    at = end + 1;
  }
  return out;
}

/// Adds the sections of one page. One that a heading of a lower level divides holds that part too.
void read_page(const source::EmbeddedFile& page, std::vector<LanguageSection>& sections) {
  struct Open {
    size_t level;
    size_t section;
  };
  std::vector<Open> open;
  bool is_code = false;
  for (size_t begin = 0; begin < page.text.size();) {
    const size_t end = std::min(page.text.find('\n', begin), page.text.size());
    const std::string_view line = page.text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("```")) is_code = !is_code;
    const size_t level = is_code ? 0 : level_of(line);
    if (level > 0) {
      while (!open.empty() && open.back().level >= level) open.pop_back();
      open.push_back({level, sections.size()});
      // What the first heading names is a whole page.
      sections.push_back(
          {std::string(page.name), words_of(line), level > 1 ? topics_of(line) : std::vector<std::string>(), ""});
    }
    for (const Open& one : open)
      sections[one.section].text += (is_code ? std::string(line) : without_targets(line)) + "\n";
  }
}

}  // namespace

const std::vector<LanguageSection>& language_sections() {
  static const std::vector<LanguageSection> kSections = [] {
    std::vector<LanguageSection> sections;
    for (const source::EmbeddedFile& page : language_pages) read_page(page, sections);
    for (LanguageSection& section : sections) section.text.resize(section.text.find_last_not_of('\n') + 1);
    return sections;
  }();
  return kSections;
}

std::vector<const LanguageSection*> find_sections(std::string_view word) {
  const size_t blank = word.rfind(' ');
  const std::string_view last = blank == std::string_view::npos ? word : word.substr(blank + 1);
  std::vector<const LanguageSection*> found;
  for (const LanguageSection& section : language_sections()) {
    const bool is_whole = std::find(section.words.begin(), section.words.end(), word) != section.words.end();
    const bool is_last = std::find(section.words.begin(), section.words.end(), last) != section.words.end();
    if (is_whole || (is_last && section.text.find(word) != std::string::npos)) found.push_back(&section);
  }
  if (!found.empty()) return found;
  const std::string topic = topic_of(word);
  for (const LanguageSection& section : language_sections()) {
    if (std::find(section.topics.begin(), section.topics.end(), topic) != section.topics.end())
      found.push_back(&section);
  }
  return found;
}

}  // namespace ltr::driver
