// Any text is rows of cells whose lines count upwards, or refused with the byte; cells are numbers or not.
#include "doors/csv.h"
#include "doors/file.h"
#include "tests/fuzz/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  fuzz::answer<doors::FormatError>([&] {
    doors::CsvReader reader(fuzz::text_of(data, size));
    std::vector<std::string> cells;
    int64_t line = 0;
    while (reader.next(cells)) {
      fuzz::expect(reader.line() > line && !cells.empty(), "every row has cells and a line of its own");
      line = reader.line();
      for (const std::string& cell : cells) {
        double real = 0;
        int64_t whole = 0;
        if (doors::parse_int(cell, whole)) fuzz::expect(doors::parse_float(cell, real), "an integer is a number");
      }
    }
  });
  return 0;
}
