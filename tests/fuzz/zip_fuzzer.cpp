// Any bytes are an archive whose entries lie within it, or refused.
#include "doors/zip.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::Mapping file(fuzz::file_of(data, size, ".zip"));
    for (const doors::ZipEntry& entry : doors::read_zip("x", file)) {
      const bool is_inside = entry.is_compressed || (entry.offset <= size && entry.size <= size - entry.offset);
      fuzz::expect(is_inside, "an entry lies in the file");
    }
  });
  return 0;
}
