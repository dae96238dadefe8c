// Any bytes are a checkpoint's manifest, or the checkpoint is damaged. The runtime is linked as it is, without
// sanitizers.
#include <filesystem>
#include <fstream>

#include "runtime/api/error.h"
#include "runtime/checkpoint/folder.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  static const std::string folder = "/tmp/ltr-fuzz-" + std::to_string(getpid()) + "-run";
  std::filesystem::create_directories(folder + "/step1");
  std::ofstream(folder + "/step1/checkpoint.json", std::ios::binary) << fuzz::text_of(data, size);
  fuzz::answer<Error>([&] { read_manifest(folder + "/step1"); });
  fuzz::expect(!verify_checkpoint(folder + "/step1").empty(), "a checkpoint without its files is damaged");
  fuzz::expect(checkpoint_names(folder).size() == 1, "a folder with a manifest is listed");
  return 0;
}
