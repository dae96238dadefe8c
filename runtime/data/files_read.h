#pragma once

// Files that records name, such as the images of a CSV file: what a record was made of besides the files of its source. They are known
// once it is read.

#include <set>

#include "ltr/api.h"

namespace ltr {

/// While it lives, this thread notes here which of them it reads; and then in the one around it, if there is one.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  static void note(const Str& path);
  /// The files as they lie there now; "" if there are none.
  Str text() const;
  /// Whether they still lie there as `text` said. Those of the text count as read.
  static bool are_same(std::string_view text);

 private:
  std::set<Str> paths_;
  FilesRead* around_;
};

}  // namespace ltr
