// A program that parses means the same after formatting, and formatting it again changes nothing.
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  source::SourceManager sources;
  const auto parse = [&](const std::string& text, bool& is_good) {
    const source::SourceId id = sources.add("fuzz.ltr", text);
    diagnostics::Sink sink;
    ast::Module module = parse::parse(id, sources, sink);
    is_good = !sink.has_errors();
    return module;
  };
  bool is_good = false;
  const std::string text(fuzz::text_of(data, size));
  const ast::Module module = parse(text, is_good);
  if (!is_good) return 0;
  const std::string once = format::format(module, text);
  const ast::Module again = parse(once, is_good);
  fuzz::expect(is_good, "what was formatted parses");
  fuzz::expect(format::is_same_tree(module, again), "formatting keeps the tree");
  fuzz::expect(format::format(again, once) == once, "formatting twice is formatting once");
  return 0;
}
