// Any bytes are files within the archive, or refused.
#include "doors/tar.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    for (const doors::TarEntry& entry : doors::read_tar(fuzz::text_of(data, size), "x"))
      fuzz::expect(entry.offset <= size && entry.size <= size - entry.offset, "files within the archive");
  });
  return 0;
}
