// Compares the functions that a C++ file defines with the prototypes that its generated header
// declares.
//   ltr_extern_check FILE COMPILER-FLAGS…
// The header's prototypes stand in `ltr_expected`, which the flag -DLTR_EXTERN_CHECK asks of it.
// Prints one finding a line, its words separated by tabs (compare.h). Exit status 0, or 2 on wrong
// use.
#include <cstdio>

#include "codegen/extern_check/compare.h"

namespace {

using ltr::extern_check::Finding;

void print(const Finding& finding) {
  std::string line;
  for (const std::string& word : finding) {
    if (!line.empty()) line += '\t';
    // A message of the compiler may hold anything.
    for (const char c : word) line += c == '\t' || c == '\n' ? ' ' : c;
  }
  std::puts(line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: ltr_extern_check FILE COMPILER-FLAGS…\n", stderr);
    return 2;
  }
  const ltr::extern_check::Reading reading = ltr::extern_check::read(argv[1], {argv + 2, argv + argc});
  // A file that does not compile is not understood; what seems to be missing may follow from that.
  if (reading.errors.empty()) {
    for (const Finding& finding : ltr::extern_check::compare(reading)) print(finding);
  }
  for (const auto& [place, text] : reading.errors) {
    print({"error", place.file, std::to_string(place.line), std::to_string(place.column), std::to_string(place.length),
           text});
  }
  for (const std::string& input : reading.inputs) print({"input", input});
  return 0;
}
