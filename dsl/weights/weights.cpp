#include "dsl/weights/weights.h"

#include <deque>

#include "dsl/check/check.h"
#include "dsl/elaborate/elaborate.h"
#include "dsl/weights/comparison.h"

namespace ltr::weights {

namespace {

using check::Kind;

/// What can be read, where no command makes it of what is there.
const std::string kPlainFile = "save names and tensors alone: `torch.save(model.state_dict(), \"weights.pt\")`";

/// Reports why a file cannot be used; true if it can.
bool is_usable(const WeightsFile& file, check::Span span, const std::string& path, diagnostics::Sink& sink) {
  switch (file.problem) {
    case WeightsFile::Problem::None: return true;
    case WeightsFile::Problem::NotThere: return false;
    case WeightsFile::Problem::Damaged:
      sink.report(diag::weights_damaged(span, path, file.offset, file.reason));
      return false;
    case WeightsFile::Problem::Unsupported:
      sink.report(diag::weights_unsupported(span, path, file.reason)
                      .help("{}", file.cure.empty() ? kPlainFile : "convert it: " + file.cure));
      return false;
    case WeightsFile::Problem::NeedsCode:
      sink.report(diag::weights_need_code(span, path, joined(file.callables))
                      .note("a file of weights is read without running anything")
                      .help("where you trust it, convert it: {}", file.cure));
      return false;
  }
  return false;
}

/// The type of a model as an experiment builds it: its int params in terms of what is given for them.
check::Type type_in(const check::Experiment& experiment, const check::Program& program) {
  check::Type type = check::Type::of(Kind::Model);
  type.decl = experiment.model;
  const check::Object& model = program.models[experiment.model];
  for (size_t i = 0; i < model.params.size() && i < experiment.model_arguments.size(); ++i) {
    const check::Type& param = model.params[i].type;
    const check::Type& given = program.exprs[experiment.model_arguments[i]].type;
    const auto atom = param.value ? param.value->single_atom() : std::nullopt;
    if (atom && given.value) type.arguments.emplace_back(*atom, *given.value);
  }
  return type;
}

/// Compares the members of one block or model that load weights.
void compare_members(const check::Object& owner, const check::Type& type, check::Program& program, const Files& files,
                     Findings& found) {
  std::deque<Comparison> comparisons;
  for (const check::Member& member : owner.members) {
    const auto* path = member.source ? member.source->path.get<check::node::StrConst>() : nullptr;
    if (path == nullptr) continue;
    WeightsFile file = files.open(path->text, owner.module);
    if (is_usable(file, member.source->span, path->text, found.sink))
      comparisons.emplace_back(member, std::move(file), files, found);
  }
  if (comparisons.empty()) return;
  const auto build = [&](const check::Type& built, const check::ExprIds& arguments) {
    return elaborate::build(program, built, arguments, program.atoms);
  };
  {
    const elaborate::Tree alone = build(type, {});
    for (Comparison& one : comparisons) one.compare_alone({alone, one.member()});
  }
  for (const check::Experiment& experiment : program.experiments) {
    if (type.kind != Kind::Model || experiment.model != type.decl) continue;
    const elaborate::Tree wired = build(type_in(experiment, program), experiment.model_arguments);
    for (Comparison& one : comparisons) one.compare_in_experiment({wired, one.member()});
  }
}

}  // namespace

check::Program check_weights(check::Program checked, const resolve::ModuleGraph& graph,
                             const source::SourceManager& sources, diagnostics::Sink& sink, const Files& files) {
  Findings found{.atoms = checked.atoms, .sink = sink, .requirements = {}};
  const auto each = [&](Kind kind, const std::vector<check::Object>& objects) {
    for (check::DeclIndex i = 0; i < objects.size(); ++i) {
      check::Type type = check::Type::of(kind);
      type.decl = i;
      compare_members(objects[i], type, checked, files, found);
    }
  };
  each(Kind::Model, checked.models);
  each(Kind::Block, checked.blocks);
  if (found.requirements.empty()) return checked;
  return check::oblige(std::move(checked), found.requirements, graph, sources, sink);
}

}  // namespace ltr::weights
