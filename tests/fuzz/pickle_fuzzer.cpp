// Any bytes are a pickle whose values name each other only, or refused with the opcode.
#include "doors/pickle.h"

#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::PickleError>([&] {
    const doors::Pickle pickle = doors::read_pickle(fuzz::text_of(data, size));
    fuzz::expect(pickle.root < pickle.values.size(), "the root is a value");
    for (const doors::PickleValue& value : pickle.values) {
      for (const doors::PickleId item : value.items) fuzz::expect(item < pickle.values.size(), "items are values");
    }
  });
  return 0;
}
