#pragma once

// A file that is read where it lies, or, packed by gzip, in memory.

#include <memory>

#include "doors/mapping.h"

namespace ltr::doors {

class Unpacked {
 public:
  /// Errors as of `read_file`.
  explicit Unpacked(const std::string& path);
  /// Whether what `text` gave was not all there: see `Mapping::watch`.
  bool is_cut() const { return file_ != nullptr && file_->is_cut(); }
  std::string_view text() const { return file_ != nullptr ? file_->text() : std::string_view(unpacked_); }

 private:
  std::unique_ptr<Mapping> file_;
  std::string unpacked_;
};

}  // namespace ltr::doors
