// `safetensors`: tensors of a file, a record for each leading index.

#include "doors/safetensors.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/arrays.h"

namespace ltr {

namespace {

class TensorFile : public ArrayFile {
 public:
  explicit TensorFile(const Str& path) : file_(doors::SafetensorsFile::open(path)) {}

  std::vector<Str> names() const override {
    std::vector<Str> names;
    for (const doors::TensorEntry& entry : file_.tensors()) names.push_back(entry.name);
    return names;
  }
  doors::NpyArray read(const Str& name) const override {
    const doors::TensorEntry& entry = *file_.find(name);
    return {entry.dtype, entry.shape, Str(static_cast<const char*>(entry.data), entry.bytes)};
  }

 private:
  doors::SafetensorsFile file_;
};

}  // namespace

Stream safetensors(const Str& file, const Schema& schema) {
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    return reading(path, [&] { return stacked_arrays(TensorFile(path), path, schema); });
  });
}

}  // namespace ltr
