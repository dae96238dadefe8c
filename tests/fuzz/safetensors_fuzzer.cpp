// Any bytes are a file of tensors within its bounds, or refused with a reason.
#include <unistd.h>

#include <string>

#include "doors/bytes.h"
#include "doors/safetensors.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  static const std::string path = "/tmp/ltr-fuzz-" + std::to_string(getpid()) + ".safetensors";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  try {
    const doors::SafetensorsFile weights = doors::SafetensorsFile::open(path);
    uint8_t sum = 0;
    for (const doors::TensorEntry& tensor : weights.tensors()) {
      const auto* bytes = static_cast<const uint8_t*>(tensor.data);
      for (size_t i = 0; i < tensor.bytes; ++i) sum ^= bytes[i];
    }
    fuzz::expect(sum <= 255, "bytes can be read");
  } catch (const std::exception&) {
    // Refused, which is an answer.
  }
  std::remove(path.c_str());
  return 0;
}
