// `audio`: sound, decoded when it is read.

#include "ltr/streams.h"
#include "runtime/data/paths.h"
#include "runtime/data/sound_cells.h"
#include "runtime/data/sources/each_file.h"
#include "runtime/data/sources/records.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class Sounds : public EachFile {
 public:
  using EachFile::EachFile;

  bool read(const ReadAt& at, Record& out) const override {
    const Str& path = path_of(at);
    doors::Sound sound = reading(path, [&] { return doors::read_sound(path); });
    out.resize(3);
    out[1].whole = sound.rate;
    out[0].tensor = give(tensor_of_sound(std::move(sound)));
    out[2].text = path;
    return true;
  }
};

}  // namespace

Stream audio(const Str& glob) {
  return open_source(audio_record(), [&] {
    Str pattern;
    std::vector<Str> files = find_files(glob, &pattern);
    return Stream(new Sounds(audio_record(), pattern, std::move(files)));
  });
}

}  // namespace ltr
