// Any text is JSON within its bounds, or refused with the byte.
#include "doors/file.h"
#include "doors/json.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const nlohmann::json json = doors::parse_json(fuzz::text_of(data, size), "x");
    fuzz::expect(json == doors::parse_json(json.dump(), "again"), "JSON reads back");
  });
  return 0;
}
