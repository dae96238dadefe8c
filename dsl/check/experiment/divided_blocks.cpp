#include <algorithm>
#include <set>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/scope/scope.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// The blocks that a model is made of, at any depth.
class BlocksOf {
 public:
  explicit BlocksOf(const Program& program) : program_(program) {}

  void take(const Object& object) {
    for (const Member& member : object.members) take(member.type);
    for (const Local& param : object.params) take(param.type);
  }
  void take(const Type& type) {
    if (type.kind == Kind::Block && type.decl >= program_.blocks.size()) is_open_ = true;
    if (type.kind == Kind::Block && !is_open_ && seen_.insert(type.decl).second) {
      names_.insert(program_.blocks[type.decl].name);
      take(program_.blocks[type.decl]);
    }
    is_open_ = is_open_ || type.is_error();
    for (const TypeField& field : type.fields) take(field.type);
  }

  bool may_have(const std::string& name) const { return is_open_ || names_.contains(name); }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  const Program& program_;
  std::set<DeclIndex> seen_;
  std::set<std::string> names_;
  bool is_open_ = false;  ///< some may be any block
};

}  // namespace

void check_divided_blocks(Context& cx, const Experiment& experiment) {
  const auto topology = std::ranges::find(cx.program.topologies, experiment.topology, &Topology::name);
  if (topology == cx.program.topologies.end()) return;
  const Object& model = cx.program.models[experiment.model];
  BlocksOf blocks(cx.program);
  blocks.take(model);
  for (const ExprId argument : experiment.model_arguments) blocks.take(cx.at(argument).type);
  const auto check_name = [&](const ExprView& one) {
    const std::string name = text_of(one);
    if (name.empty() || blocks.may_have(name)) return;
    diagnostics::Diagnostic diagnostic = diag::unknown_block(one.span, name);
    diagnostic.label(model.span, "`{}` is the model of `{}`", model.name, experiment.name);
    note_there_are(diagnostic, blocks.names());
    cx.report(std::move(diagnostic));
  };
  for (const SettingValue& setting : topology->settings) {
    if (setting.path == "shard.weights") check_name(setting.value);
    const auto* list = setting.path == "recompute" ? setting.value.get<node::List>() : nullptr;
    for (const ExprId one : list != nullptr ? list->elements : ExprIds()) check_name(cx.at(one));
  }
}

}  // namespace ltr::check
