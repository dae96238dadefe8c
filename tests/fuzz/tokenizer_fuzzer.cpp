// Any text is a tokenizer whose ids lie below its size, or refused.
#include "doors/tokenizer/tokenizer.h"

#include <stdexcept>

#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    const doors::Tokenizer tokenizer(fuzz::text_of(data, size), "x");
    for (const char* text :
         {"", "Hello, world! 12 x\xCC\x81 \xF0\x9F\x98\x80 [CLS]", " \xE2\x96\x81 a\n\n\tb", "\xFF\x80z"}) {
      try {
        const std::vector<int64_t> ids = tokenizer.encode(text);
        for (const int64_t id : ids) fuzz::expect(id >= 0 && id < tokenizer.size(), "ids below the size");
        tokenizer.decode(ids);
      } catch (const std::invalid_argument&) {
      } catch (const std::out_of_range&) {
      } catch (const std::runtime_error&) {
      }
    }
  });
  return 0;
}
