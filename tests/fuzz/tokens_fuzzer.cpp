// Any bytes are ids that can all be copied, or refused.
#include <vector>

#include "doors/file.h"
#include "doors/token_file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::TokenFile file(fuzz::file_of(data, size, ".bin"));
    std::vector<int32_t> ids(file.count());
    file.copy(0, file.count(), ids.data());
  });
  return 0;
}
