// Any bytes are whole channels of finite length, or refused.
#include "doors/wav.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::Wav wav = doors::read_wav(fuzz::file_of(data, size, ".wav"));
    fuzz::expect(wav.channels > 0 && wav.rate > 0 && wav.samples.size() % size_t(wav.channels) == 0, "whole channels");
  });
  return 0;
}
