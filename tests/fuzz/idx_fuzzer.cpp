// Any bytes, packed or not, are an IDX file whose data fits its header, or refused.
#include "doors/idx.h"

#include "doors/file.h"
#include "doors/safetensors.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::IdxFile file = doors::read_idx(fuzz::file_of(data, size, ".idx"));
    size_t bytes = doors::dtype_bytes(file.dtype);
    for (const int64_t dim : file.shape) bytes *= size_t(dim);
    fuzz::expect(bytes == file.data.size(), "the data fits the shape");
  });
  return 0;
}
