#pragma once

#include <string>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/source/source_manager.h"

namespace ltr::driver {

/// What is documented of one declaration.
struct DocEntry {
  std::string name;
  std::string kind;       ///< `function`, `block`, `hparam` …
  std::string signature;  ///< as written, its first line not indented
  std::string doc;        ///< the `##` lines; may be empty
  /// Lines about its inside: weights, methods, batch fields, steps.
  std::vector<std::string> parts;
  uint32_t line = 0;  ///< 0 if it is written in no file
};

/// One file.
struct DocModule {
  std::string path;               ///< `std/losses/classification.ltr`
  std::string title;              ///< `losses/classification`: unique in its set, without `.ltr`
  std::vector<DocEntry> entries;  ///< public ones, in the order of the file

  /// The part of the title before the last `/`; the title itself if there is none.
  std::string folder() const { return title.substr(0, title.rfind('/')); }
  /// The part behind it.
  std::string name() const { return title.substr(title.rfind('/') + 1); }
};

/// The settings of `trainer`, `topology` and `serve`, a page each: type, default and meaning; then the schedulers.
std::vector<DocModule> settings_pages();
/// The hooks of callbacks, the names that steps and hooks bring, and what optimizers, facts, vocabularies and the run have
/// behind a dot, a page each.
std::vector<DocModule> places_pages();

DocModule document(const ast::Module& module, const source::SourceManager& sources);

/// The pages of a static site: index.html and one file for each module, nothing from elsewhere.
/// Pairs of file name and text.
std::vector<std::pair<std::string, std::string>> html_pages(const std::vector<DocModule>& modules,
                                                            const std::string& title);
/// README.md and one file for each folder.
std::vector<std::pair<std::string, std::string>> markdown_pages(const std::vector<DocModule>& modules,
                                                                const std::string& title, const std::string& command);
/// One entry for the terminal.
std::string text_page(const DocModule& module, const DocEntry& entry, bool color);

}  // namespace ltr::driver
