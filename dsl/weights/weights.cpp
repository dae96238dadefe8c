#include "dsl/weights/weights.h"

#include <algorithm>
#include <deque>
#include <map>

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

/// Members that load weights, by the kind and declaration that they stand in.
using Loading = std::map<std::pair<Kind, check::DeclIndex>, std::deque<Comparison>>;

void add_loading(const std::vector<check::Object>& owners, Kind kind, const Files& files, Findings& found,
                 Loading& loading) {
  for (check::DeclIndex i = 0; i < owners.size(); ++i) {
    for (const check::Member& member : owners[i].members) {
      if (!member.source) continue;
      const auto* path = member.source->path.get<check::node::StrConst>();
      WeightsFile file;
      file.problem = WeightsFile::Problem::NotThere;
      if (path != nullptr) file = files.open(path->text, owners[i].module);
      const bool is_there = path != nullptr && is_usable(file, member.source->span, path->text, found.sink);
      // What is frozen is named by the block.
      const bool freezes = file.problem == WeightsFile::Problem::NotThere &&
                           std::ranges::any_of(member.source->rules, [](const check::WeightRule& rule) {
                             return rule.kind == check::WeightRule::Kind::Freeze;
                           });
      if (is_there || freezes) loading[{kind, i}].emplace_back(member, std::move(file), files, found);
    }
  }
}

}  // namespace

check::Program check_weights(check::Program checked, const resolve::ModuleGraph& graph,
                             const source::SourceManager& sources, diagnostics::Sink& sink, const Files& files) {
  Findings found{.atoms = checked.atoms, .sink = sink, .requirements = {}};
  Loading loading;
  add_loading(checked.models, Kind::Model, files, found, loading);
  add_loading(checked.blocks, Kind::Block, files, found, loading);
  if (loading.empty()) return checked;
  for (auto& [owner, members] : loading) {
    check::Type type = check::Type::of(owner.first);
    type.decl = owner.second;
    const elaborate::Tree alone = elaborate::build(checked, type, {}, checked.atoms);
    for (Comparison& one : members) one.compare_alone({alone, one.member()});
  }
  for (const check::Experiment& experiment : checked.experiments) {
    const elaborate::Tree wired =
        elaborate::build(checked, type_in(experiment, checked), experiment.model_arguments, checked.atoms);
    for (const elaborate::Object& object : wired.objects) {
      const auto members = loading.find({object.kind, object.decl});
      if (members == loading.end() || !object.path) continue;
      for (Comparison& one : members->second)
        one.compare_in_experiment({wired, elaborate::below(*object.path, one.member())});
    }
  }
  if (found.requirements.empty()) return checked;
  return check::oblige(std::move(checked), found.requirements, graph, sources, sink);
}

}  // namespace ltr::weights
