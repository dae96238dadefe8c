// Any bytes are an archive whose entries lie within it and unpack to their size, or refused.
#include "doors/zip.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::Mapping file(fuzz::file_of(data, size, ".zip"));
    for (const doors::ZipEntry& entry : doors::read_zip("x", file)) {
      const bool is_inside = entry.offset <= size && entry.stored <= size - entry.offset;
      fuzz::expect(is_inside, "an entry lies in the file");
      fuzz::expect(doors::unpacked("x", file, entry).size() == entry.size, "an entry has its size");
    }
  });
  return 0;
}
