// From source to C++ that a compiler accepts. The golden tests in tests/emit look at the text.

#include "codegen/emit/emit.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/ir/text.h"
#include "codegen/lower/lower.h"
#include "codegen/passes/pipeline.h"
#include "dsl/check/check.h"
#include "dsl/diagnostics/load_source.h"
#include "dsl/diagnostics/render.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/resolve.h"

namespace ltr::emit {
namespace {

struct Lowered {
  source::SourceManager sources;
  ir::Module module;
};

void lower_source(source::SourceId id, Lowered& out) {
  diagnostics::Sink sink;
  const resolve::ModuleGraph graph = resolve::resolve(parse::parse(id, out.sources, sink), out.sources, sink);
  const check::Program program = check::check(graph, out.sources, sink);
  for (const diagnostics::Diagnostic& diagnostic : sink.sorted())
    MESSAGE(diagnostics::render_short(diagnostic, out.sources));
  REQUIRE_FALSE(sink.has_errors());
  lower::Options options;
  for (const resolve::Module& module : graph.modules) {
    if (module.is_library) options.library_sources.insert(module.ast.source.index);
  }
  out.module = lower::lower(program, out.sources, options);
}

/// The whole way; checks that the IR is sound after each pass, reads back, and that g++ takes the C++.
std::string compile(Lowered& lowered, const std::string& name) {
  for (const std::string& mistake : ir::verify(lowered.module)) FAIL_CHECK(mistake);
  passes::PipelineOptions options;
  options.verify = true;
  passes::run_passes(lowered.module, options);
  const std::string text = ir::print(lowered.module);
  ir::ReadError error;
  const std::optional<ir::Module> again = ir::read(text, error);
  REQUIRE_MESSAGE(again.has_value(), error.message);
  CHECK(ir::print(*again) == text);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("ltr_emit_test_" + name + ".cpp");
  const std::string cpp = emit(lowered.module, file.string());
  std::ofstream(file) << cpp;
  const std::string command = "c++ -std=c++20 -fsyntax-only -I" LTR_API_DIR " " + file.string();
  CHECK_MESSAGE(std::system(command.c_str()) == 0, command);
  std::filesystem::remove(file);
  return cpp;
}

std::string compile_text(const std::string& text) {
  Lowered lowered;
  lower_source(lowered.sources.add("test.ltr", "ltr 1\n" + text), lowered);
  return compile(lowered, "text");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the examples become C++") {
  for (const char* name : {"iris", "mnist", "keras_cnn", "forecast", "gan", "char_gpt"}) {
    const std::string path = std::string(LTR_SOURCE_DIR) + "/examples/" + name + ".ltr";
    CAPTURE(name);
    Lowered lowered;
    diagnostics::Sink sink;
    const auto id = diagnostics::load_source(path, lowered.sources, sink);
    REQUIRE(id.has_value());
    lower_source(*id, lowered);
    compile(lowered, name);
  }
}

TEST_CASE("control flow carries locals") {
  const std::string cpp = compile_text(R"(
fn f(x: float[4], n: int, flag: bool) -> float[4] {
  y = x
  if flag { y = y + 1 } else { if n > 3 { return x } }
  for i in 0 .. n {
    y = y * 2
    if i == 3 { y = y - 1 }
  }
  return y
}
test "f" { assert f(randn(4), 3, true).shape == [4] }
)");
  CHECK(has(cpp, "for (int64_t i_"));
  CHECK(has(cpp, "return x_0;"));
}

TEST_CASE("a param and a member may share a name, and names of C++ are changed") {
  const std::string cpp = compile_text(R"(
block Scale(size: int, bias: bool) {
  weight bias: option[float[size]] = if bias then zeros(size) else none
  weight union: float[size] = ones(size)
  fn forward[B](x: float[B, size]) -> float[B, size] = x * union
}
test "scale" {
  net = Scale(3, true)
  assert net(randn(2, 3)).shape == [2, 3]
}
)");
  CHECK(has(cpp, "bool ltr_bias{};"));
  CHECK(has(cpp, "ltr::Tensor bias{};"));
  CHECK(has(cpp, "this->union_"));
}

TEST_CASE("a buffer that is read and written keeps its old value") {
  const std::string cpp = compile_text(R"(
block Counter(size: int) {
  buffer total: float[size] = zeros(size)
  fn forward[B](x: float[B, size]) -> float[B, size] {
    before = total
    total = total + 1
    return x - before
  }
}
test "counter" {
  net = Counter(3)
  assert net(randn(2, 3)).shape == [2, 3]
}
)");
  CHECK(has(cpp, "->total);"));
  CHECK(has(cpp, "= ltr::clone("));
  CHECK(has(cpp, "ltr::assign("));
}

TEST_CASE("host values of all kinds") {
  compile_text(R"(
hparam n: int = 8 where n % 4 == 0 and n > 0
hparam act: str = "relu" where act in ["relu", "gelu"]
hparam rate: float = 1e-3 where rate > 0
test "host" {
  a = floor(n / 3) + ceil(n / 3) + n % 3
  b = sqrt(2.0) * max(1.0, rate)
  c = if a > 3 then "many" else "few"
  print "{a:03} and {b:.2} are {c}", n
  assert a == 7, "a is {a}"
  assert n > 0 and 12 / n > 0 or a in [1, 2, 3]
  x = randn(n, 2)
  q, k = x.chunk(2, dim = 1)
  assert q.shape == k.shape
}
)");
}

}  // namespace ltr::emit
