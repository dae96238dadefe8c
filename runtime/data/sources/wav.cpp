// `wav`: sound, decoded when it is read.

#include "doors/wav.h"

#include <algorithm>

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
  explicit Sounds(std::vector<Str> files) : Source(sound_schema()), files_(std::move(files)) {
    for (const Str& file : files_) {
      note_opened(file);
      note_records(file, 1);
    }
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return files_[size_t(at.index)]; }

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = files_[size_t(at.index)];
    const doors::Wav wav = reading(path, [&] { return doors::read_wav(path); });
    at::Tensor audio = at::empty({wav.channels, int64_t(wav.samples.size()) / wav.channels}, at::kFloat);
    std::copy(wav.samples.begin(), wav.samples.end(), audio.mutable_data_ptr<float>());
    out.resize(3);
    out[0].tensor = give(audio.to(scalar_type(DType::Float)));
    out[1].whole = wav.rate;
    out[2].text = path;
    return true;
  }

 private:
  std::vector<Str> files_;
};

}  // namespace

Stream wav(const Str& glob) {
  if (is_mock_data()) return mock_source(sound_schema());
  return open_or_absent(sound_schema(), [&] { return Stream(new Sounds(find_files(glob))); });
}

}  // namespace ltr
