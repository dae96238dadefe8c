// `audio`: sound, decoded when it is read.

#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sound_cells.h"
#include "runtime/data/sources/records.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class Sounds : public Source {
 public:
  Sounds(const Str& pattern, std::vector<Str> files) : Source(audio_record()), files_(std::move(files)) {
    note_opened(pattern, files_);
    note_records(pattern, size());
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return files_[size_t(at.index)]; }

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = files_[size_t(at.index)];
    doors::Sound sound = reading(path, [&] { return doors::read_sound(path); });
    out.resize(3);
    out[1].whole = sound.rate;
    out[0].tensor = give(tensor_of_sound(std::move(sound)));
    out[2].text = path;
    return true;
  }

 private:
  std::vector<Str> files_;
};

}  // namespace

Stream audio(const Str& glob) {
  return open_source(audio_record(), [&] {
    Str pattern;
    std::vector<Str> files = find_files(glob, &pattern);
    return Stream(new Sounds(pattern, std::move(files)));
  });
}

}  // namespace ltr
