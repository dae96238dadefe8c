// Every text is checked to the end, whatever is wrong with it: types, weights, sizes, and what steps do with weights.
#include "codegen/lower/lower.h"
#include "codegen/training_logic/training_logic.h"
#include "dsl/check/check.h"
#include "dsl/diagnostics/render.h"
#include "dsl/elaborate/elaborate.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/resolve.h"
#include "dsl/weights/weights.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ltr;

/// Whatever a program loads is there: one tensor, which fits no weight.
struct AnyFile : weights::Files {
  weights::WeightsFile open(const std::string&, const std::string&) const override {
    weights::WeightsFile file;
    file.tensors.push_back({"stored", "I64", {3, 5}});
    return file;
  }
  weights::LoadPlan plan(const std::vector<weights::WantedTensor>& wanted, const std::vector<std::string>& stored,
                         const std::vector<check::WeightRule>&) const override {
    weights::LoadPlan plan;
    if (stored.empty()) return plan;  // it asks what a rule names, without the file
    for (const weights::WantedTensor& tensor : wanted) plan.loads.emplace_back(tensor.name, stored.front());
    return plan;
  }
};

/// Everything is built, also what loads nothing.
void build_all(check::Program& program) {
  const auto each = [&](check::Kind kind, const std::vector<check::Object>& objects) {
    for (check::DeclIndex i = 0; i < objects.size(); ++i) {
      check::Type type = check::Type::of(kind);
      type.decl = i;
      elaborate::build(program, type, {}, program.atoms);
    }
  };
  each(check::Kind::Block, program.blocks);
  each(check::Kind::Model, program.models);
  for (const check::Experiment& experiment : program.experiments) {
    check::Type type = check::Type::of(check::Kind::Model);
    type.decl = experiment.model;
    elaborate::build(program, type, experiment.model_arguments, program.atoms);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  source::SourceManager sources;
  const source::SourceId id = sources.add("fuzz.ltr", std::string(fuzz::text_of(data, size)));
  diagnostics::Sink sink;
  ast::Module module = parse::parse(id, sources, sink);
  const resolve::ModuleGraph graph = resolve::resolve(std::move(module), sources, sink);
  check::Program program = weights::check_weights(check::check(graph, sources, sink), graph, sources, sink, AnyFile());
  build_all(program);
  lower::Options options;
  options.has_errors = sink.has_errors();
  training_logic::check_training(lower::lower_for_analysis(program, sources, options), program, sink);
  for (const diagnostics::Diagnostic& diagnostic : sink.sorted()) diagnostics::render_human(diagnostic, sources, {});
  return 0;
}
