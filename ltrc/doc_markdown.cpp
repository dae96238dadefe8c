#include <fmt/core.h>

#include <map>

#include "ltrc/doc_entry.h"

namespace ltr::driver {

namespace {

/// Text outside of backticks, so that Markdown reads it as it stands.
std::string markdown_escaped(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (!is_code && std::string_view("*_<>[]|\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Indented lines of a doc comment are tables of arguments, which keep their columns.
std::string markdown_prose(const std::string& doc) {
  std::string out;
  bool in_table = false;
  for (size_t begin = 0; begin < doc.size();) {
    const size_t end = std::min(doc.find('\n', begin), doc.size());
    const std::string_view line = std::string_view(doc).substr(begin, end - begin);
    const bool is_table = line.starts_with("  ");
    if (is_table != in_table) out += is_table ? "\n```text\n" : "```\n\n";
    in_table = is_table;
    out += is_table ? std::string(line.substr(2)) : markdown_escaped(line);
    out += '\n';
    begin = end + 1;
  }
  return in_table ? out + "```\n" : out;
}

std::string folder_page(const DocModule& module) {
  std::string name = module.folder();
  for (char& c : name) c = c == '/' ? '_' : c;
  return name + ".md";
}

/// The anchor that renderers give to the heading of a name.
std::string anchor(std::string name) {
  std::erase(name, '.');
  for (char& c : name) c = char(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> markdown_pages(const std::vector<DocModule>& modules,
                                                                const std::string& title, const std::string& command) {
  std::map<std::string, std::string> pages;
  std::string index = fmt::format(
      "# {}\n\nWritten by `{}` from the declarations and their `##` "
      "comments. The same page in the terminal: `ltrc doc NAME`.\n",
      title, command);
  std::string folder;
  for (const DocModule& module : modules) {
    if (module.entries.empty()) continue;
    std::string& page = pages[folder_page(module)];
    if (page.empty()) page = fmt::format("# {}\n", module.folder());
    if (module.folder() != folder) {
      folder = module.folder();
      index += fmt::format("\n## [{}]({})\n\n", folder, folder_page(module));
    }
    page += fmt::format("\n## {}\n", module.title);
    index += fmt::format("- {}:", module.title);
    for (const DocEntry& entry : module.entries) {
      index += fmt::format("{}[{}]({}#{})", &entry == module.entries.data() ? " " : ", ", markdown_escaped(entry.name),
                           folder_page(module), anchor(entry.name));
      page += fmt::format("\n### {}\n\n```text\n{}\n```\n\n{}", markdown_escaped(entry.name), entry.signature,
                          markdown_prose(entry.doc));
      if (entry.parts.empty()) continue;
      page += "\n```text\n";
      for (const std::string& part : entry.parts) page += part + "\n";
      page += "```\n";
    }
    index += "\n";
  }
  std::vector<std::pair<std::string, std::string>> result = {{"README.md", index}};
  result.insert(result.end(), pages.begin(), pages.end());
  return result;
}

}  // namespace ltr::driver
