// `files`: whole files as bytes, read when they are asked for.

#include <ATen/ATen.h>

#include <filesystem>

#include "doors/limits.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/records.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class WholeFiles : public Source {
 public:
  WholeFiles(const Str& pattern, std::vector<Str> files) : Source(files_record()), files_(std::move(files)) {
    note_opened(pattern, files_);
    note_records(pattern, size());
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return files_[size_t(at.index)]; }

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = files_[size_t(at.index)];
    const Str bytes = reading(path, [&] { return doors::read_plain_file(path, doors::limits::kFileBytes); });
    const at::Tensor content = at::empty({int64_t(bytes.size())}, at::TensorOptions().dtype(at::kByte));
    if (!bytes.empty()) std::memcpy(content.mutable_data_ptr(), bytes.data(), bytes.size());
    out.resize(2);
    out[0].text = path;
    out[1].tensor = give(content);
    return true;
  }

 private:
  std::vector<Str> files_;
};

}  // namespace

Stream files(const Str& glob) {
  return open_source(files_record(), [&] {
    Str pattern;
    std::vector<Str> found = find_files(glob, &pattern);
    std::error_code failed;
    std::erase_if(found, [&](const Str& path) { return std::filesystem::is_directory(path, failed); });
    if (found.empty())
      throw with_help(error_here(err::file_missing, pattern),
                      "what it names are folders; a folder and all in it is `…/*`");
    return Stream(new WholeFiles(pattern, std::move(found)));
  });
}

}  // namespace ltr
