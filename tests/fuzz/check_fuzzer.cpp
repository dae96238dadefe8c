// Every text is checked to the end, whatever is wrong with it.
#include "dsl/check/check.h"
#include "dsl/diagnostics/render.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/resolve.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  source::SourceManager sources;
  const source::SourceId id = sources.add("fuzz.ltr", std::string(fuzz::text_of(data, size)));
  diagnostics::Sink sink;
  ast::NodeId next_node = 1;
  ast::Module module = parse::parse(id, sources, next_node, sink);
  const resolve::ModuleGraph graph = resolve::resolve(std::move(module), sources, next_node, sink);
  check::check(graph, sources, sink);
  for (const diagnostics::Diagnostic& diagnostic : sink.sorted()) diagnostics::render_human(diagnostic, sources, {});
  return 0;
}
