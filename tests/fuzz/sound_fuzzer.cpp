// Any bytes are whole channels of finite length, or refused.
#include "doors/sound.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::Sound sound = doors::decode_sound(fuzz::text_of(data, size), "x");
    fuzz::expect(sound.channels > 0 && sound.rate > 0 && sound.samples.size() % size_t(sound.channels) == 0,
                 "whole channels");
  });
  return 0;
}
