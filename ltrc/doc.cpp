#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "dsl/diagnostics/load_source.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/parse.h"
#include "ltrc/commands.h"
#include "ltrc/doc_entry.h"
#include "ltrc/exit_code.h"
#include "ltrc/language_pages.h"
#include "ltrc/source_files.h"

namespace ltr::driver {

namespace {

/// The modules of a file, a folder or the library; what is wrong with them lies in the sink.
std::vector<DocModule> read_modules(const std::string& place, Compilation& compilation) {
  source::SourceManager& sources = compilation.sources;
  std::vector<DocModule> modules;
  const auto add = [&](source::SourceId id) {
    modules.push_back(document(parse::parse(id, sources, *compilation.sink), sources));
  };
  if (place == "std") {
    for (const source::EmbeddedFile& file : resolve::library_texts)
      add(sources.add("std/" + std::string(file.name), std::string(file.text)));
    for (DocModule& page : settings_pages()) modules.push_back(std::move(page));
    for (DocModule& page : places_pages()) modules.push_back(std::move(page));
    return modules;
  }
  for (const std::string& file : find_sources(place)) {
    if (const auto id = diagnostics::load_source(file, sources, *compilation.sink)) add(*id);
  }
  std::error_code error;
  for (DocModule& module : modules) {
    const std::string below = std::filesystem::is_directory(place, error)
                                  ? std::filesystem::path(module.title).lexically_relative(place).string()
                                  : std::filesystem::path(module.title).filename().string();
    module.title = below;
  }
  return modules;
}

int write_pages(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& pages) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto& [name, text] : pages) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (const auto reason = write_file(path, text)) {
      fmt::print(stderr, "error: cannot write {}: {}\n", path, *reason);
      return kErrors;
    }
  }
  if (isatty(1) != 0) fmt::print("wrote {} pages to {}\n", pages.size(), folder);
  return kOk;
}

/// Sections of the language's reference, if it is the language that was asked.
bool show_word(const std::string& word, bool color, std::vector<std::string>& known) {
  bool is_found = false;
  for (const LanguageSection& section : language_sections()) {
    known.insert(known.end(), section.words.begin(), section.words.end());
  }
  for (const LanguageSection* section : find_sections(word)) {
    const std::string shown = color ? fmt::format("\x1b[1m{}\x1b[0m", word) : word;
    fmt::print("{}{}  language, docs/language/{}\n\n{}\n", is_found ? "\n" : "", shown, section->page, section->text);
    is_found = true;
  }
  return is_found;
}

int show_name(const std::vector<DocModule>& modules, const std::string& name, bool is_library, bool color) {
  std::vector<std::string> known;
  bool is_found = is_library && show_word(name, color, known);
  for (const DocModule& module : modules) {
    // `trainer` is all of its settings.
    const bool is_whole = module.folder() == "settings" && module.name() == name;
    for (const DocEntry& entry : module.entries) {
      known.push_back(entry.name);
      if (entry.name != name && !is_whole) continue;
      fmt::print("{}{}", is_found ? "\n" : "", text_page(module, entry, color));
      is_found = true;
    }
  }
  if (is_found) return kOk;
  fmt::print(stderr, "error: {} is called `{}`\n",
             is_library ? "nothing of the language or the library" : "nothing public", name);
  const std::vector<std::string> longer = diagnostics::longer_forms(name, known);
  if (const auto near = diagnostics::suggest(name, known))
    fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  else if (!longer.empty())
    fmt::print(stderr, "  = help: there are {}\n", diagnostics::listed(longer));
  return kErrors;
}

void list_names(const std::string& title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string line = title + ":";
  for (const std::string& name : names) {
    if (line.size() + name.size() > 100) {
      fmt::print("{}\n", line);
      line = "   ";
    }
    line += " " + name;
  }
  fmt::print("{}\n", line);
}

/// The words of the language by page, then the names of the library by file.
void list_all(const std::vector<DocModule>& modules) {
  const std::vector<LanguageSection>& sections = language_sections();
  std::vector<std::string> names;
  for (size_t i = 0; i < sections.size(); ++i) {
    names.insert(names.end(), sections[i].words.begin(), sections[i].words.end());
    const std::string& page = sections[i].page;
    if (i + 1 < sections.size() && sections[i + 1].page == page) continue;
    list_names("language/" + page.substr(0, page.find('.')), names);
    names.clear();
  }
  for (const DocModule& module : modules) {
    names.clear();
    for (const DocEntry& entry : module.entries) names.push_back(entry.name);
    list_names(module.title, names);
  }
}

/// Of the language, its settings and hooks. `std` alone is the library, though facts have one, too.
bool is_word(const std::string& word) {
  if (word == "std") return false;
  for (const LanguageSection& section : language_sections()) {
    if (std::find(section.words.begin(), section.words.end(), word) != section.words.end()) return true;
  }
  for (const auto& pages : {settings_pages(), places_pages()}) {
    for (const DocModule& page : pages) {
      for (const DocEntry& entry : page.entries) {
        if (entry.name == word) return true;
      }
    }
  }
  return false;
}

bool is_place(const std::string& word) {
  std::error_code error;
  return word == "std" || word.ends_with(".ltr") || word.find('/') != std::string::npos ||
         std::filesystem::is_directory(word, error);
}

}  // namespace

int run_doc(const DocOptions& options, const Common& common) {
  std::string place = "std", name;
  if (!options.words.empty()) {
    // A single word of the language comes before files: `..` and `/` are operators, and a folder may be called `data`.
    const bool may_be_word = options.words.size() == 1 && options.html.empty() && options.markdown.empty();
    const bool names_place = is_place(options.words[0]) && !(may_be_word && is_word(options.words[0]));
    if (names_place) place = options.words[0];
    if (!names_place) name = options.words[0];
    if (options.words.size() > 1 && !names_place) {
      fmt::print(stderr, "error: `{}` is no file, folder or `std`\n", options.words[0]);
      return kUsage;
    }
    if (options.words.size() > 1) name = options.words[1];
  }
  Compilation compilation;
  compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  const std::vector<DocModule> modules = read_modules(place, compilation);
  if (const int status = report(compilation, common); status != kOk) return status;
  const std::string title = place == "std" ? "The standard library" : place;
  if (!options.html.empty()) return write_pages(options.html, html_pages(modules, title));
  if (!options.markdown.empty()) {
    const std::string command = fmt::format("ltrc doc {} --markdown", place);
    return write_pages(options.markdown, markdown_pages(modules, title, command));
  }
  const bool color =
      common.color == "always" || (common.color == "auto" && isatty(1) != 0 && std::getenv("NO_COLOR") == nullptr);
  if (!name.empty()) return show_name(modules, name, place == "std", color);
  if (place == "std") {
    list_all(modules);
    return kOk;
  }
  bool is_first = true;
  for (const DocModule& module : modules) {
    for (const DocEntry& entry : module.entries) {
      fmt::print("{}{}", is_first ? "" : "\n", text_page(module, entry, color));
      is_first = false;
    }
  }
  return kOk;
}

}  // namespace ltr::driver
