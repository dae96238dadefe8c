// Any bytes are a config file, or an error of their own. The runtime is linked as it is, without sanitizers.
#include "runtime/cli/config_file.h"

#include "runtime/api/error.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<Error>([&] {
    cli::RunSettings settings;
    cli::read_config(fuzz::file_of(data, size, ".json"), settings);
  });
  return 0;
}
