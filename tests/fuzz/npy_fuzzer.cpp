// Any bytes are an array whose data fits its shape and which is written back as it was, or refused.
#include "doors/npy.h"

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::NpyArray array = doors::read_npy(fuzz::file_of(data, size, ".npy"));
    const std::string again = doors::encode_npy(array);
    const void* bytes = again.data();
    const doors::NpyArray back =
        doors::read_npy(fuzz::file_of(static_cast<const uint8_t*>(bytes), again.size(), ".npy"));
    fuzz::expect(back.shape == array.shape && back.data == array.data, "an array reads back");
  });
  return 0;
}
