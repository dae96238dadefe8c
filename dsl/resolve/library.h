#pragma once

// What of the standard library a program needs. Reading all of it would take longer than checking most programs.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/source/embedded.h"

namespace ltr::resolve {

/// The callbacks that an experiment has without listing them, unless it says otherwise.
inline constexpr std::string_view kImpliedCallbacks[] = {"Checkpoint", "ProgressBar", "Summary", "StopOnSignal"};

/// The standard library, embedded: names are paths such as `tensor/pool.ltr`.
extern const std::span<const source::EmbeddedFile> library_texts;

/// Whether the names of a file are visible only after an import: `import std.vision.{…}`.
bool is_imported_only(std::string_view file);

/// The declarations that the library has for everybody; found without parsing.
class LibraryIndex {
 public:
  static const LibraryIndex& get();

  /// By index into `library_texts` the text of each file that declares what `texts` may mention, and what those declarations may
  /// mention, by our name or by that of another library. All other declarations are blank in it, so that places in it are those
  /// of the file. Every word of a text counts, whatever it stands for there.
  std::map<size_t, std::string> needed_by(const std::vector<std::string_view>& texts) const;
  /// The module that `name` is to be imported from, `std.models`; "" if there is none.
  static std::string module_of(std::string_view name);
  /// All public names, or those of files below `folder`, `callbacks/`; in order.
  std::vector<std::string> names(std::string_view folder = "") const;

 private:
  /// A declaration with its doc comment: the bytes [begin, end) of a file.
  struct Declaration {
    size_t file = 0;
    size_t begin = 0;
    size_t end = 0;
    std::string_view text() const { return library_texts[file].text.substr(begin, end - begin); }
  };

  LibraryIndex();
  void read(size_t file);
  void add(std::string_view name, size_t file, size_t begin);

  std::vector<Declaration> declarations_;                 // In the order of files, and in that of their lines.
  std::map<std::string_view, std::string_view> implied_;  // By a name what it calls though it does not say so.
  std::unordered_map<std::string_view, std::vector<size_t>>
      by_name_;  // Some names are declared for streams and for tensors.
};

}  // namespace ltr::resolve
