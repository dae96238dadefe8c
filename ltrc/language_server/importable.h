#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ltr::language_server {

/// A folder, a file, or a declared name of the library.
struct LibraryName {
  std::string name;
  std::string file;  ///< what declares it; empty for a folder
  bool is_folder = false;
};

/// What may follow an `import` whose line ends `before`: `std`, its folders, the names in one. Also
/// of files that this program does not load.
std::vector<LibraryName> importable(std::string_view before);

}  // namespace ltr::language_server
