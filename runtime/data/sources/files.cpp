// `files`: whole files as bytes, read when they are asked for.

#include <ATen/ATen.h>

#include <filesystem>

#include "doors/limits.h"
#include "ltr/streams.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/each_file.h"
#include "runtime/data/sources/records.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class WholeFiles : public EachFile {
 public:
  using EachFile::EachFile;

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = path_of(at);
    const Str bytes = reading(path, [&] { return doors::read_plain_file(path, doors::limits::kFileBytes); });
    const at::Tensor content = at::empty({int64_t(bytes.size())}, at::TensorOptions().dtype(at::kByte));
    if (!bytes.empty()) std::memcpy(content.mutable_data_ptr(), bytes.data(), bytes.size());
    out.resize(2);
    out[0].text = path;
    out[1].tensor = give(content);
    return true;
  }
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
    return Stream(new WholeFiles(files_record(), pattern, std::move(found)));
  });
}

}  // namespace ltr
