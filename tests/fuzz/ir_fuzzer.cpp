// What is read as IR is printed, and reads back as the same; the verifier says what is wrong with it, whatever it is.
#include "codegen/ir/text.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  ir::ReadError error;
  const std::optional<ir::Module> module = ir::read(fuzz::text_of(data, size), error);
  if (!module) return 0;
  ir::verify(*module);
  const std::string printed = ir::print(*module);
  const std::optional<ir::Module> again = ir::read(printed, error);
  fuzz::expect(again.has_value(), "what was printed reads back");
  fuzz::expect(ir::print(*again) == printed, "what reads back prints the same");
  return 0;
}
