// `wav`: sound, decoded when it is read.

#include "doors/wav.h"

#include <memory>

#include <ATen/ops/from_blob.h>

#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

Schema sound_schema() {
  return {{"audio", DType::Float, {-1, -1}, ""}, {"rate", DType::I64, {}, "int"}, {"path", DType::U8, {}, "str"}};
}

class Sounds : public Source {
 public:
  Sounds(const Str& pattern, std::vector<Str> files) : Source(sound_schema()), files_(std::move(files)) {
    note_opened(pattern, files_);
    note_records(pattern, size());
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return files_[size_t(at.index)]; }

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = files_[size_t(at.index)];
    // The tensor keeps the samples as they were read.
    const auto wav = std::make_shared<doors::Wav>(reading(path, [&] { return doors::read_wav(path); }));
    const at::Tensor audio = at::from_blob(
        wav->samples.data(), {wav->channels, int64_t(wav->samples.size()) / wav->channels}, [wav](void*) {},
        at::TensorOptions().dtype(at::kFloat));
    out.resize(3);
    out[0].tensor = give(audio.to(scalar_type(DType::Float)));
    out[1].whole = wav->rate;
    out[2].text = path;
    return true;
  }

 private:
  std::vector<Str> files_;
};

}  // namespace

Stream wav(const Str& glob) {
  if (is_mock_data()) return mock_source(sound_schema());
  return open_or_absent(sound_schema(), [&] {
    Str pattern;
    std::vector<Str> files = find_files(glob, &pattern);
    return Stream(new Sounds(pattern, std::move(files)));
  });
}

}  // namespace ltr
