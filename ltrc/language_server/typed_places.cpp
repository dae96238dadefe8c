#include "dsl/check/walk.h"
#include "ltrc/language_server/index.h"

namespace ltr::language_server {

namespace {

struct Collector {
  const check::Program& program;
  TypedPlaces places;

  void expr(check::ExprId id, const check::Fn* fn) { expr(program.exprs[id], fn); }
  void expr(const check::ExprView& value, const check::Fn* fn) {
    check::for_each_child(value, [&](check::ExprId child) { expr(child, fn); });
    check::for_each_body(value, [&](const check::Body& inner) { body(inner, fn); });
    if (value.type.is_error() || value.span.is_empty()) return;
    const TypedPlace place{value.span, &value.type};
    // The inner one was there first; it is what was written, the outer a conversion of it.
    if (value.is<check::node::Convert>()) {
      places.exprs.try_emplace(value.span, place);
    } else {
      places.exprs[value.span] = place;
    }
  }
  void body(const check::Body& statements, const check::Fn* fn) {
    for (const check::Stmt& statement : statements) {
      if (fn != nullptr) places.statements.try_emplace(statement.span, fn, &statement);
      check::for_each_child(statement, [&](check::ExprId child) { expr(child, fn); });
      check::for_each_body(statement, [&](const check::Body& inner) { body(inner, fn); });
    }
  }
  void settings(const std::vector<std::pair<std::string, check::Expr>>& list) {
    for (const auto& [name, value] : list) expr(value, nullptr);
  }
  void settings(const std::vector<check::SettingValue>& list) {
    for (const check::SettingValue& setting : list) expr(setting.value, nullptr);
  }
  void object(const check::Object& value) {
    for (const auto& initial : value.defaults) {
      if (initial) expr(*initial, nullptr);
    }
    for (const check::Member& member : value.members) {
      expr(member.value, nullptr);
      settings(member.settings);
      for (const check::GroupSettings& group : member.groups) settings(group.settings);
    }
    for (const check::InitRule& rule : value.inits) expr(rule.value, nullptr);
  }
  void experiment(const check::Experiment& value) {
    for (const auto* arguments : {&value.data_arguments, &value.model_arguments}) {
      for (const check::ExprId argument : *arguments) expr(argument, nullptr);
    }
    for (const auto* listed : {&value.callbacks, &value.loggers}) {
      for (const check::Expr& call : *listed) expr(call, nullptr);
    }
    settings(value.sets);
    for (const auto& [name, list] : check::kSettingsSections) settings(value.*list);
  }
};

}  // namespace

TypedPlaces typed_places(const check::Program& program) {
  Collector collector{program, {}};
  for (const auto* objects : {&program.blocks, &program.models, &program.metrics, &program.callbacks}) {
    for (const check::Object& object : *objects) collector.object(object);
  }
  for (const check::DataObject& data : program.datas) {
    collector.object(data.object);
    for (const check::StreamDecl& stream : data.streams) collector.expr(stream.value, nullptr);
  }
  for (const check::Hparam& hparam : program.hparams) {
    collector.expr(program.exprs[hparam.initial], nullptr);
    if (hparam.where) collector.expr(program.exprs[*hparam.where], nullptr);
  }
  for (const check::Topology& topology : program.topologies) collector.settings(topology.settings);
  for (const check::Experiment& experiment : program.experiments) collector.experiment(experiment);
  for (const check::Fn& fn : program.fns) collector.body(fn.body, &fn);
  return std::move(collector.places);
}

const check::Object* object_of(const check::Type& type, const check::Program& program) {
  const auto pick = [&](const auto& list) -> const check::Object* {
    return type.decl < list.size() ? &list[type.decl] : nullptr;
  };
  if (type.kind == check::Kind::Block) return pick(program.blocks);
  if (type.kind == check::Kind::Model) return pick(program.models);
  if (type.kind == check::Kind::Metric) return pick(program.metrics);
  if (type.kind == check::Kind::Data && type.decl < program.datas.size()) return &program.datas[type.decl].object;
  return nullptr;
}

const resolve::Symbol* symbol_of(const check::Type& type, const driver::Compilation& compilation) {
  if (!compilation.program || !compilation.graph) return nullptr;
  const check::Object* object = object_of(type, *compilation.program);
  if (object == nullptr) return nullptr;
  for (const resolve::Module& module : compilation.graph->modules) {
    if (module.path != object->module) continue;
    if (const auto found = module.symbols.find(object->name); found != module.symbols.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace ltr::language_server
