// The weights that a plan counts, one experiment with its numbers, are those that the training logic follows, all runs at once.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "codegen/lower/lower.h"
#include "codegen/training_logic/trace.h"
#include "dsl/check/check.h"
#include "dsl/diagnostics/load_source.h"
#include "dsl/elaborate/elaborate.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/resolve.h"
#include "runtime/tables/weight_pattern.h"

namespace ltr::training_logic {
namespace {

/// A weight of the plan and of the trace: its places, and what is known of its sizes.
struct Known {
  std::vector<std::string> places;
  std::vector<std::optional<int64_t>> sizes;
  bool is_frozen = false;
  bool is_sure = true;
};

using Weights = std::vector<Known>;

Weights weights_of(const elaborate::Tree& tree) {
  Weights all;
  for (size_t id = 0; id < tree.weights.size(); ++id) {
    const elaborate::Weight& weight = tree.weights[id];
    if (weight.is_buffer) continue;
    Known known{.sizes = weight.dims, .is_frozen = weight.is_frozen};
    for (const auto& [place, at] : tree.places) {
      if (at == id) known.places.push_back(place);
    }
    all.push_back(std::move(known));
  }
  return all;
}

Weights weights_of(const Heap& heap, ObjectId model) {
  const uint32_t root = heap.objects[model].scope.root;
  Weights all;
  for (const Weight& weight : heap.weights) {
    if (weight.places[0].root != root) continue;
    Known known{.sizes = weight.sizes, .is_frozen = weight.is_frozen, .is_sure = weight.is_sure};
    for (const Scope& place : weight.places) known.places.push_back(place.path);
    all.push_back(std::move(known));
  }
  return all;
}

/// Whether the trace may mean this weight of the plan: a list that it does not count has `*` for the number of its element.
bool is_same(const Known& planned, const Known& traced) {
  const auto lies = [&](const std::string& place) {
    return std::ranges::any_of(traced.places, [&](const std::string& other) { return matches(place, other); });
  };
  const auto fits = [](const auto& a, const auto& b) { return !a || !b || *a == *b; };
  return std::ranges::all_of(planned.places, lies) && planned.is_frozen == traced.is_frozen &&
         std::ranges::equal(planned.sizes, traced.sizes, fits);
}

std::string text(const Known& weight) {
  std::string text;
  for (const std::string& place : weight.places) text += (text.empty() ? "" : " = ") + place;
  text += " [";
  for (const std::optional<int64_t>& size : weight.sizes) text += (size ? std::to_string(*size) : "?") + ",";
  return text + "]" + (weight.is_frozen ? " frozen" : "");
}

/// `body` of `body.*.weight`, with as many parts as `place` has of it: what holds a list that the trace does not count.
bool is_in_list(const std::string& place, const std::string& traced) {
  const std::string list = traced.substr(0, traced.rfind(".*"));
  size_t end = 0;
  for (auto parts = std::ranges::count(list, '.') + 1; parts > 0 && end != std::string::npos; --parts)
    end = place.find('.', end + 1);
  return end != std::string::npos && matches(place.substr(0, end), list);
}

/// Both ways; how many weights were compared.
size_t compare(const elaborate::Tree& tree, const Weights& traced) {
  const Weights planned = weights_of(tree);
  for (const Known& weight : planned) {
    if (std::ranges::none_of(traced, [&](const Known& other) { return is_same(weight, other); }))
      FAIL_CHECK("the training logic does not know " << text(weight));
  }
  for (const Known& weight : traced) {
    const bool is_open = std::ranges::any_of(
        tree.open, [&](const std::string& place) { return elaborate::is_below(weight.places[0], place); });
    const bool may_be_empty = weight.places[0].find(".*") != std::string::npos;
    const bool is_empty = may_be_empty && std::ranges::none_of(tree.places, [&](const auto& planned) {
                            return is_in_list(planned.first, weight.places[0]);
                          });
    if (!weight.is_sure || is_open || is_empty) continue;
    if (std::ranges::none_of(planned, [&](const Known& other) { return is_same(other, weight); }))
      FAIL_CHECK("the plan does not know " << text(weight));
  }
  return planned.size();
}

struct Program {
  source::SourceManager sources;
  check::Program checked;
  ir::Module module;
};

bool load(const std::filesystem::path& path, Program& program) {
  diagnostics::Sink sink;
  const auto id = diagnostics::load_source(path.string(), program.sources, sink);
  const resolve::ModuleGraph graph = resolve::resolve(parse::parse(*id, program.sources, sink), program.sources, sink);
  program.checked = check::check(graph, program.sources, sink);
  if (sink.has_errors()) return false;
  lower::Options options;
  for (const resolve::Module& module : graph.modules) {
    if (module.is_library) options.library_sources.insert(module.ast.source.index);
  }
  program.module = lower::lower_for_analysis(program.checked, program.sources, options);
  return true;
}

/// What the training logic makes of the model of an experiment: as that wires it where it gives it blocks, else from arguments of
/// which nothing is known.
Weights traced(const Program& program, const check::Object& model, const check::Experiment* experiment) {
  Heap heap;
  Trace trace(program.module, heap);
  const auto makes = [&](const ir::Function& function) {
    return function.role == ir::Role::MakeModel && experiment != nullptr && function.loc.span == experiment->span;
  };
  if (const auto make = std::ranges::find_if(program.module.functions, makes); make != program.module.functions.end()) {
    const std::optional<ObjectId> built = trace.build_wired(*make);
    REQUIRE(built);
    return weights_of(heap, *built);
  }
  const auto& objects = program.module.tables->objects;
  const auto info = std::ranges::find_if(objects, [&](const ir::ObjectInfo& object) {
    return object.kind == ir::TypeKind::Model && object.shown == model.name;
  });
  REQUIRE(info != objects.end());
  const ObjectId built = trace.build(*info);
  return weights_of(heap, built);
}

/// Each model in the terms of its params, and with the numbers of each experiment.
size_t compare(Program& program) {
  size_t compared = 0;
  const std::vector<check::Object>& models = program.checked.models;
  for (size_t i = 0; i < models.size(); ++i) {
    CAPTURE(models[i].name);
    check::Type type = check::Type::of(check::Kind::Model);
    type.decl = check::DeclIndex(i);
    const elaborate::Tree tree = elaborate::build(program.checked, type, {}, program.checked.atoms);
    compared += compare(tree, traced(program, models[i], nullptr));
  }
  for (const check::Experiment& experiment : program.checked.experiments) {
    CAPTURE(experiment.name);
    const elaborate::Plan plan = elaborate::elaborate(program.checked, experiment, {});
    // Nothing is built of numbers that break a rule: a sweep brings others.
    if (plan.broken.empty()) compared += compare(plan.tree, traced(program, models[experiment.model], &experiment));
  }
  return compared;
}

}  // namespace

TEST_CASE("what a plan counts is what the training logic follows") {
  size_t programs = 0, compared = 0;
  for (const char* folder : {"examples", "tests"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(LTR_SOURCE_DIR) + "/" + folder)) {
      if (entry.path().extension() != ".ltr") continue;
      CAPTURE(entry.path().string());
      Program program;
      if (!load(entry.path(), program)) continue;  // Most tests are of mistakes.
      ++programs;
      compared += compare(program);
    }
  }
  MESSAGE(programs << " programs, " << compared << " weights");
  CHECK(programs > 300);
  CHECK(compared > 5000);
}

}  // namespace ltr::training_logic
