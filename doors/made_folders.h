#pragma once

#include <string>
#include <vector>

namespace ltr::doors {

/// Folders that are made where they are not there yet, and may be taken back.
class MadeFolders {
 public:
  /// Makes `path` and what it lies in. Throws std::system_error.
  void make(const std::string& path);
  /// Removes those that were made, the innermost first, up to one that has something in it.
  void take_back();

 private:
  std::vector<std::string> made_;  ///< the outermost first
};

}  // namespace ltr::doors
