#include "dsl/resolve/library.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "dsl/diagnostics/suggest.h"
#include "dsl/library/each.h"

namespace ltr::resolve {

namespace {

constexpr auto kWordChars = [] {
  std::array<bool, 256> chars{};
  for (size_t c = 0; c < chars.size(); ++c)
    chars[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  return chars;
}();

bool is_word_char(char c) { return kWordChars[static_cast<unsigned char>(c)]; }

std::string_view first_word(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_word_char(text[end])) ++end;
  return text.substr(0, end);
}

/// Calls `visit` with each line of `text`.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The name that a line declares, if it does: `KEYWORD NAME` at its beginning, or `  fn NAME` in a block `extern`. The
/// library is formatted by `ltrc fmt`, so nothing else looks like that.
std::string_view declared_name(std::string_view line, bool is_in_extern) {
  constexpr std::string_view kOfExtern = "  fn ";
  if (is_in_extern) return line.starts_with(kOfExtern) ? first_word(line.substr(kOfExtern.size())) : std::string_view();
  const std::string_view keyword = first_word(line);
  const bool is_declaration =
      !keyword.empty() && keyword != "ltr" && keyword != "import" && keyword.size() + 1 < line.size();
  return is_declaration && line[keyword.size()] == ' ' ? first_word(line.substr(keyword.size() + 1))
                                                       : std::string_view();
}

bool is_comment(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first != std::string_view::npos && line[first] == '#';
}

/// Calls `visit` with each word of `text` outside of lines of comment, and with the functions that its operators stand for.
template <typename Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for_each_line(text, [&](std::string_view line) {
    if (is_comment(line)) return;
    while (!line.empty()) {
      const std::string_view word = first_word(line);
      if (!word.empty()) {
        visit(word);
      } else if (line.front() == '@') {
        visit(library::info(library::Id::Matmul).name);
      }
      line.remove_prefix(std::max(word.size(), size_t(1)));
    }
  });
}

}  // namespace

bool is_imported_only(std::string_view file) {
  constexpr std::array<std::string_view, 5> kFolders = {"vision/", "models/", "tasks/", "text/", "audio/"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return file.starts_with(folder); });
}

const LibraryIndex& LibraryIndex::get() {
  static const LibraryIndex index;
  return index;
}

LibraryIndex::LibraryIndex() {
  by_name_.reserve(1024);
  for (size_t i = 0; i < library_texts.size(); i++) {
    if (!is_imported_only(library_texts[i].name)) read(i);
  }
}

void LibraryIndex::read(size_t file) {
  const std::string_view text = library_texts[file].text;
  size_t begin = 0;  // of the line, or of the comment above it
  size_t last = declarations_.size();
  bool is_extern = false;
  const auto close = [&](size_t end) {
    if (last < declarations_.size()) declarations_[last].end = end;
    last = declarations_.size();
  };
  for_each_line(text, [&](std::string_view line) {
    const auto at = size_t(line.data() - text.data());
    const size_t next = at + line.size() + 1;
    if (line.starts_with("extern ") || (is_extern && line == "}")) {
      close(begin);
      is_extern = line != "}";
    } else if (const std::string_view name = declared_name(line, is_extern); !name.empty()) {
      close(begin);
      add(name, file, begin);
    }
    if (!is_comment(line)) begin = next;
  });
  close(text.size());
}

void LibraryIndex::add(std::string_view name, size_t file, size_t begin) {
  by_name_[name].push_back(declarations_.size());
  // Who mentions it calls what its rule calls.
  for (const library::Space space : {library::Space::Values, library::Space::Streams}) {
    const library::Id id = library::find(space, name);
    if (library::info(id).calls != library::Id::None)
      implied_.emplace(name, library::info(library::info(id).calls).name);
  }
  declarations_.push_back({file, begin, begin});
}

std::map<size_t, std::string> LibraryIndex::needed_by(const std::vector<std::string_view>& texts) const {
  std::vector<bool> is_needed(declarations_.size());
  std::unordered_set<std::string_view> seen;
  std::vector<std::string_view> left = texts;
  while (!left.empty()) {
    const std::string_view text = left.back();
    left.pop_back();
    for_each_word(text, [&](std::string_view word) {
      if (!seen.insert(word).second) return;
      auto found = by_name_.find(word);
      // What another library calls so is meant.
      const auto ours = found == by_name_.end() ? diagnostics::renamed(word) : std::nullopt;
      if (ours) found = by_name_.find(*ours);
      if (found == by_name_.end()) return;
      for (const size_t i : found->second) {
        if (is_needed[i]) continue;
        is_needed[i] = true;
        left.push_back(declarations_[i].text());
        if (const auto implied = implied_.find(word); implied != implied_.end()) left.push_back(implied->second);
        if (const auto each = by_name_.find(library::each_of(word)); each != by_name_.end())
          left.push_back(each->first);
      }
    });
  }
  std::map<size_t, std::string> needed;
  for (size_t i = 0; i < declarations_.size(); i++) {
    if (is_needed[i]) needed.try_emplace(declarations_[i].file, library_texts[declarations_[i].file].text);
  }
  for (size_t i = 0; i < declarations_.size(); i++) {
    const Declaration& declaration = declarations_[i];
    const auto text = needed.find(declaration.file);
    if (!is_needed[i] && text != needed.end())
      std::fill(text->second.begin() + ptrdiff_t(declaration.begin), text->second.begin() + ptrdiff_t(declaration.end),
                ' ');
  }
  return needed;
}

std::string LibraryIndex::module_of(std::string_view name) {
  for (const source::EmbeddedFile& file : library_texts) {
    if (!is_imported_only(file.name) || name.starts_with('_')) continue;
    bool is_declared = false;
    bool is_extern = false;
    for_each_line(file.text, [&](std::string_view line) {
      if (line.starts_with("extern ") || (is_extern && line == "}")) is_extern = line != "}";
      is_declared = is_declared || declared_name(line, is_extern) == name;
    });
    if (is_declared) return "std." + std::string(file.name.substr(0, file.name.find('/')));
  }
  return "";
}

std::vector<std::string> LibraryIndex::names(std::string_view folder) const {
  std::vector<std::string> names;
  for (const auto& [name, declarations] : by_name_) {
    const bool is_below = std::any_of(declarations.begin(), declarations.end(), [&](size_t i) {
      return library_texts[declarations_[i].file].name.starts_with(folder);
    });
    if (is_below && !name.starts_with('_')) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ltr::resolve
