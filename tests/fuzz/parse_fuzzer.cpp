// Every text becomes a tree, which can be printed; diagnostics point into the text and can be shown.
#include "dsl/ast/dump.h"
#include "dsl/diagnostics/render.h"
#include "dsl/parse/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  source::SourceManager sources;
  const source::SourceId id = sources.add("fuzz.ltr", std::string(fuzz::text_of(data, size)));
  diagnostics::Sink sink;
  const ast::Module module = parse::parse(id, sources, sink);
  ast::dump_ast(module, &sources);
  for (const diagnostics::Diagnostic& diagnostic : sink.sorted()) {
    fuzz::expect(diagnostic.span.end <= size, "a diagnostic points into the text");
    diagnostics::render_human(diagnostic, sources, {});
    diagnostics::render_json(diagnostic, sources);
  }
  return 0;
}
