// Any bytes are a PyTorch file whose tensors can be read, or refused; nothing in it is run.
#include "doors/weights_file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  constexpr size_t kCopied = size_t(16) << 20;  // Strides of 0 make any size of few bytes.
  fuzz::answer<doors::WeightsError>([&] {
    doors::WeightsFile file = doors::WeightsFile::open(fuzz::file_of(data, size, ".pt"));
    size_t left = kCopied;
    uint8_t sum = 0;
    for (const doors::TensorEntry& tensor : file.tensors()) {
      if (tensor.bytes > left) break;
      left -= tensor.bytes;
      const auto* bytes = static_cast<const uint8_t*>(file.bytes_of(tensor));
      for (size_t i = 0; i < tensor.bytes; ++i) sum ^= bytes[i];
    }
    fuzz::expect(sum <= 255, "bytes can be read");
  });
  return 0;
}
