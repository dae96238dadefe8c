// Any bytes are a config file, or an error of their own. The runtime is linked as it is, without sanitizers.
#include "runtime/cli/config_file.h"

#include "runtime/api/error.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<Error>([&] {
    cli::RunSettings settings;
    const Str path = fuzz::file_of(data, size, ".json");
    cli::give_config(cli::read_config(path), path, settings);
  });
  return 0;
}
