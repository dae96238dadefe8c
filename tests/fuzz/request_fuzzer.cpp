// Any body is rows of a request, or is refused with a status. The first line says what it is. The runtime is linked as it is,
// without sanitizers.
#include "runtime/serve/scoring_request.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  static const Schema kSchema = {{"x", DType::Float, {3}},
                                 {"image", DType::U8, {1, 2, 2}},
                                 {"y", DType::I64, {}, "int"},
                                 {"rate", DType::Float, {}, "float"},
                                 {"word", DType::Float, {}, "str"}};
  const std::string_view text = fuzz::text_of(data, size);
  const size_t line = std::min(text.find('\n'), text.size());
  doors::HttpRequest request{.method = "POST", .path = "/invocations"};
  request.type = text.substr(0, line);
  request.body = text.substr(std::min(line + 1, text.size()));
  for (const bool refuses_names : {false, true}) {
    try {
      const ReadRows rows = serve::read_scoring_request(request, kSchema, refuses_names);
      fuzz::expect(rows.records.size() == rows.places.size(), "each row has a place");
      for (const Str& fault : rows.faults) fuzz::expect(fault.empty(), "a row with a fault is refused");
    } catch (const serve::Refusal& refusal) {
      fuzz::expect(refusal.status == 400 || refusal.status == 415, "a refusal is the client's");
      fuzz::expect(!refusal.message.empty(), "a refusal says why");
    }
  }
  return 0;
}
