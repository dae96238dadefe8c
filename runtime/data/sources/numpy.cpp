// `npy` and `npz`: arrays of NumPy, a record for each leading index.

#include <algorithm>

#include "doors/mapping.h"
#include "doors/zip.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/arrays.h"

namespace ltr {

namespace {

/// The arrays of an archive.
class NumpyArchive : public ArrayFile {
 public:
  explicit NumpyArchive(const Str& path) : path_(path), file_(path), entries_(doors::read_zip(path, file_)) {}

  std::vector<Str> names() const override {
    std::vector<Str> names;
    for (const doors::ZipEntry& entry : entries_) {
      if (entry.name.ends_with(kEnding)) names.push_back(entry.name.substr(0, entry.name.size() - kEnding.size()));
    }
    return names;
  }
  doors::NpyArray read(const Str& name) const override {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const doors::ZipEntry& entry) { return entry.name == name + Str(kEnding); });
    return doors::parse_npy(doors::unpacked(path_, file_, *found), path_ + ":" + name);
  }

 private:
  static constexpr std::string_view kEnding = ".npy";
  Str path_;
  doors::Mapping file_;
  std::vector<doors::ZipEntry> entries_;
};

}  // namespace

Stream npz(const Str& file, const Schema& schema) {
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    return reading(path, [&] { return stacked_arrays(NumpyArchive(path), path, schema); });
  });
}

Stream npy(const Str& file, const Schema& schema) {
  if (schema.size() != 1)
    throw error_here(err::schema_differs, file, "an npy file is one array: name one field, `as {x: f32[3]}`");
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    doors::NpyArray array = reading(path, [&] { return doors::read_npy(path); });
    const int64_t count = array.shape.empty() ? 0 : array.shape[0];
    std::vector<DenseColumn> columns = {array_column(std::move(array), schema[0], path)};
    note_records(path, count);
    note_not_finite(path, schema, columns, count);
    return Stream(new DenseSource(schema, std::move(columns), count, path));
  });
}

}  // namespace ltr
