#include "dsl/resolve/library.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "dsl/parse/parse.h"
#include "dsl/resolve/kept_trees.h"
#include "dsl/resolve/resolve.h"

using namespace ltr;

namespace {

struct Resolved {
  source::SourceManager sources;
  diagnostics::Sink sink;
  resolve::ModuleGraph graph;

  Resolved(const std::string& text, resolve::Reach reach) {
    const source::SourceId id = sources.add("x.ltr", "ltr 1\n" + text + "\n");
    graph = resolve::resolve(parse::parse(id, sources, sink), sources, sink, reach);
  }

  std::vector<const resolve::Symbol*> all(const std::string& name) const {
    std::vector<const resolve::Symbol*> found;
    for (const auto* names : {&graph.prelude, &graph.stages, &graph.texts, &graph.schedules, &graph.setting_values}) {
      if (const auto symbol = names->find(name); symbol != names->end()) found.push_back(&symbol->second);
    }
    return found;
  }
};

}  // namespace

TEST_CASE("the index of the library has the names that a parse of all of it finds") {
  const Resolved whole("", resolve::Reach::Whole);
  std::vector<std::string> names;
  for (const auto* map : {&whole.graph.prelude, &whole.graph.stages, &whole.graph.texts, &whole.graph.schedules,
                          &whole.graph.setting_values}) {
    for (const auto& [name, symbol] : *map) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  CHECK(names.size() > 300);
  CHECK(resolve::LibraryIndex::get().names() == names);
}

TEST_CASE("a name that is mentioned is read as in the whole library") {
  const Resolved whole("", resolve::Reach::Whole);
  for (const std::string& name : resolve::LibraryIndex::get().names()) {
    CAPTURE(name);
    const Resolved one("const X = " + name, resolve::Reach::Mentioned);
    CHECK_FALSE(one.sink.has_errors());
    const auto found = one.all(name), wanted = whole.all(name);
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); i++) {
      CHECK(found[i]->doc == wanted[i]->doc);
      CHECK(one.sources.text(found[i]->span) == name);
      CHECK(one.sources.position(found[i]->span).begin.line == whole.sources.position(wanted[i]->span).begin.line);
    }
  }
}

TEST_CASE("what is not mentioned is not read") {
  const Resolved nothing("", resolve::Reach::Mentioned);
  CHECK(nothing.graph.modules.size() == 1);
  const Resolved one("fn f(x: float[3]) -> float[3] = x @ x", resolve::Reach::Mentioned);
  CHECK(one.graph.prelude.contains("matmul"));
  CHECK_FALSE(one.graph.prelude.contains("Accuracy"));
  CHECK(resolve::LibraryIndex::get().names("loggers/").size() < resolve::LibraryIndex::get().names().size());
}

TEST_CASE("kept trees of the library are those of the program that is read") {
  const std::vector<std::string> mentioned = {"relu", "Accuracy", "relu", "relu + Accuracy", "relu", "shuffle + relu"};
  std::vector<std::string> plain, kept;
  const auto read = [&](std::vector<std::string>& told) {
    for (const std::string& names : mentioned) {
      const Resolved one("const X = " + names, resolve::Reach::Mentioned);
      for (const char* name : {"relu", "Accuracy", "shuffle"}) {
        for (const resolve::Symbol* symbol : one.all(name)) {
          const resolve::Module& module = one.graph.modules[symbol->module];
          told.push_back(names + ": " + module.path + " " + std::string(one.sources.text(symbol->span)) + " " +
                         symbol->doc);
          told.push_back(std::string(one.sources.text(symbol->decl->span)));
          told.push_back(std::string(one.sources.path(module.ast.source)) + std::to_string(module.ast.decls.size()));
        }
      }
    }
  };
  read(plain);
  // What a thread keeps ends with it.
  std::thread([&] {
    resolve::keep_library_trees();
    read(kept);
  }).join();
  CHECK(plain.size() > 20);
  CHECK(kept == plain);
}
