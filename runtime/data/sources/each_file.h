#pragma once

#include "runtime/data/known.h"
#include "runtime/data/sources/source.h"

namespace ltr {

/// A source with a record for each file, which is read when it is asked for.
class EachFile : public Source {
 public:
  EachFile(Schema record, const Str& pattern, std::vector<Str> files)
      : Source(std::move(record)), files_(std::move(files)) {
    note_opened(pattern, files_);
    note_records(pattern, size());
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return path_of(at); }

 protected:
  const Str& path_of(const ReadAt& at) const { return files_[size_t(at.index)]; }

 private:
  std::vector<Str> files_;
};

}  // namespace ltr
