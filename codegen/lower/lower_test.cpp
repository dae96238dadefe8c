// What analysis does with programs that cannot be lowered. What lowering makes of right ones is seen in tests/emit.

#include "codegen/lower/lower.h"

#include <doctest/doctest.h>

#include "codegen/ir/internal_error.h"
#include "dsl/check/check.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/resolve.h"

namespace ltr::lower {
namespace {

/// A checked program whose functions all end in an expression that no lowering knows: with a mistake
/// in the source that is what check leaves, without one it is a mistake of ours.
ir::Module analyze_broken(bool has_errors) {
  source::SourceManager sources;
  diagnostics::Sink sink;
  const source::SourceId id = sources.add(
      "test.ltr",
      "ltr 1\nfn twice(x: float[4]) -> float[4] = 2 * x\nblock Net() { fn twice(x: float[4]) -> float[4] = 2 * x }\n");
  const resolve::ModuleGraph graph = resolve::resolve(parse::parse(id, sources, sink), sources, sink);
  check::Program program = check::check(graph, sources, sink);
  REQUIRE_FALSE(sink.has_errors());
  for (check::Fn& fn : program.fns) {
    if (fn.name != "twice") continue;
    auto& result = *fn.body[0].get<check::stmt::Return>();
    check::Expr broken = program.exprs[*result.value];
    broken.node = check::node::Error{};
    result.value = program.exprs.add(std::move(broken));
  }
  Options options;
  options.has_errors = has_errors;
  return lower_for_analysis(program, sources, options);
}

}  // namespace

TEST_CASE("what cannot be lowered is given up where check reported errors, and is our mistake elsewhere") {
  CHECK_THROWS_AS(analyze_broken(false), ir::InternalError);
  const ir::Module module = analyze_broken(true);
  for (const char* name : {"twice", "Net.twice"}) {
    CAPTURE(name);
    REQUIRE(module.find(name) != nullptr);
    CHECK(module.find(name)->has_error);
  }
}

}  // namespace ltr::lower
