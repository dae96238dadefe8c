// Any bytes are an image with all its pixels, or refused.
#include "doors/file.h"
#include "doors/image_file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  for (const int64_t channels : {1, 3}) {
    fuzz::answer<doors::FormatError>([&] {
      const doors::Image image = doors::decode_image(fuzz::text_of(data, size), "x", channels);
      fuzz::expect(int64_t(image.pixels.size()) == image.width * image.height * channels, "every pixel is there");
    });
  }
  return 0;
}
