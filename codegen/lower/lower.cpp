#include "codegen/lower/lower.h"

#include <algorithm>
#include <set>

#include "codegen/lower/body.h"
#include "codegen/lower/obligations.h"
#include "codegen/lower/shared.h"
#include "dsl/check/experiment/series.h"
#include "dsl/check/walk.h"

namespace ltr::lower {

using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

ir::Role role_of(check::FnRole role, bool has_owner) {
  switch (role) {
    case check::FnRole::Free: return has_owner ? ir::Role::Method : ir::Role::Free;
    case check::FnRole::Method: return ir::Role::Method;
    case check::FnRole::Step: return ir::Role::Step;
    case check::FnRole::Hook: return ir::Role::Hook;
    case check::FnRole::Test: return ir::Role::Test;
    case check::FnRole::MetricUpdate: return ir::Role::MetricUpdate;
    case check::FnRole::MetricCompute: return ir::Role::MetricCompute;
    case check::FnRole::MetricEach: return ir::Role::MetricEach;
    case check::FnRole::MetricLength: return ir::Role::MetricLength;
    case check::FnRole::MetricMerge: return ir::Role::MetricMerge;
  }
  return ir::Role::Free;
}

/// The blocks that any topology names in `recompute at`.
std::vector<std::string> recomputed_blocks(const check::Program& program) {
  std::set<std::string> blocks;
  for (const check::Topology& topology : program.topologies) {
    const auto setting = std::find_if(topology.settings.begin(), topology.settings.end(),
                                      [](const check::SettingValue& one) { return one.path == "recompute"; });
    if (setting == topology.settings.end()) continue;
    check::for_each_child(setting->value, [&](check::ExprId block) {
      if (const auto* name = program.exprs[block].get<check::node::StrConst>()) blocks.insert(name->text);
    });
  }
  return {blocks.begin(), blocks.end()};
}

bool is_recomputed(const check::Fn& fn, const ObjectRef* owner, const ir::Tables& tables) {
  const std::vector<std::string>& blocks = tables.recomputed;
  return owner != nullptr && owner->kind == TypeKind::Block && fn.name == "forward" &&
         std::find(blocks.begin(), blocks.end(), owner->object->name) != blocks.end();
}

void lower_function(Shared& shared, uint32_t index) {
  const check::Fn& fn = shared.program.fns[index];
  const ObjectRef* owner = shared.fn_owners[index];
  ir::Function function;
  function.name = shared.fn_names[index];
  function.owner = owner != nullptr ? owner->name : "";
  function.role = role_of(fn.role, owner != nullptr);
  function.result = shared.type(fn.result);
  function.loc = shared.loc(fn.span);
  function.is_library = shared.is_library(fn.span);
  function.draws_random = fn.draws_random;
  function.is_manual = fn.is_manual;
  function.is_recomputed = is_recomputed(fn, owner, shared.tables);
  BodyLowerer lowerer(shared, function);
  lowerer.fn = &fn;
  lowerer.b.loc = function.loc;
  if (owner != nullptr) {
    lowerer.owner = owner;
    lowerer.self = lowerer.b.param(owner->type(), "self");
  }
  for (check::LocalId i = 0; i < fn.param_count; ++i) {
    lowerer.env[i] = lowerer.b.param(shared.type(fn.locals[i].type), fn.locals[i].name);
  }
  if (owner != nullptr && owner->kind == TypeKind::Callback && !owner->object->model.empty()) {
    const std::string& wanted = owner->object->model;
    for (const auto& [key, ref] : shared.objects) {
      if (ref.kind != TypeKind::Model || ref.object->name != wanted) continue;
      lowerer.model = lowerer.b.op(OpKind::Member, ref.type(), {*lowerer.self}, "model");
    }
  }
  for (const check::Binder& binder : fn.binders) {
    ValueId base = lowerer.env.at(binder.param);
    if (!binder.field.empty()) {
      for (const check::TypeField& field : fn.locals[binder.param].type.fields) {
        if (field.name != binder.field) continue;
        base = lowerer.b.op(OpKind::RecordGet, shared.type(field.type), {base}, field.name);
      }
    }
    const ValueId size =
        lowerer.b.op(OpKind::SizeOf, Type::of(TypeKind::Int), {base}, "", {{"axis", int64_t(binder.axis)}});
    lowerer.env[binder.local] = size;
    function.values[size].name = fn.locals[binder.local].name;
  }
  lowerer.body(fn.body);
  lowerer.finish();
  shared.module.functions.push_back(std::move(function));
}

// What stands between errors may be of any form, so what cannot be lowered is given up as a whole.
void lower_intact(Shared& shared, uint32_t index) {
  try {
    lower_function(shared, index);
  } catch (const ir::InternalError&) {
    if (!shared.options.has_errors) throw;
    ir::Function function;
    function.name = shared.fn_names[index];
    function.owner = shared.fn_owners[index] != nullptr ? shared.fn_owners[index]->name : "";
    function.role = role_of(shared.program.fns[index].role, !function.owner.empty());
    function.loc = shared.loc(shared.program.fns[index].span);
    function.has_error = true;
    shared.module.functions.push_back(std::move(function));
  }
}

/// A function that nobody calls was only declared: its result has no type and it has no code.
bool has_code(const check::Fn& fn) {
  return fn.result.kind != check::Kind::Error && !(fn.body.empty() && fn.locals.empty() && fn.span.is_empty());
}

void add_files(ir::Module& module, const source::SourceManager& sources) {
  for (uint32_t i = 1; i <= sources.count(); ++i) module.files.emplace_back(sources.path({i}));
}

}  // namespace

void lower_functions(Shared& shared) {
  std::set<uint32_t> skipped;
  for (const check::Test& test : shared.program.tests) {
    if (test.is_fails) skipped.insert(test.fn);
  }
  for (uint32_t i = 1; i < shared.program.fns.size(); ++i) {
    if (skipped.count(i) == 0 && has_code(shared.program.fns[i])) lower_function(shared, i);
  }
}

void lower_tests(Shared& shared) {
  for (const check::Test& test : shared.program.tests) {
    if (!test.is_fails) shared.tables.tests.push_back({test.title, shared.fn_names[test.fn], shared.loc(test.span)});
  }
}

ir::Module lower_for_analysis(const check::Program& program, const source::SourceManager& sources,
                              const Options& options) {
  ir::Module module;
  ir::Tables tables;
  module.name = program.name;
  add_files(module, sources);
  Shared shared{program, sources, options, module, tables, {}, {}, {}, {}, {}, {}, true};
  shared.name_everything();
  lower_externs(shared);
  for (uint32_t i = 1; i < program.fns.size(); ++i) {
    if (has_code(program.fns[i])) lower_intact(shared, i);
  }
  lower_objects(shared);
  lower_given_blocks(shared);
  module.tables = std::make_shared<const ir::Tables>(std::move(tables));
  return module;
}

ir::Module lower(const check::Program& program, const source::SourceManager& sources, const Options& options) {
  ir::Module module;
  ir::Tables tables;
  module.name = program.name;
  add_files(module, sources);
  for (uint32_t i = 1; i <= sources.count(); ++i) {
    const bool is_library = options.library_sources.count(i) != 0;
    tables.is_library_file.push_back(is_library);
    if (!is_library)
      tables.sources.push_back({std::string(sources.path({i})), std::string(sources.text(source::SourceId{i}))});
  }
  tables.folder = options.folder;
  tables.source_hash = options.source_hash;
  tables.compiler = options.compiler;
  Shared shared{program, sources, options, module, tables, {}, {}, {}, {}, {}, {}, false};
  shared.name_everything();
  for (const check::LogEntry& entry : program.logs) {
    tables.logs.push_back({entry.name, entry.role, entry.kind, entry.when, entry.reduce, entry.bar,
                           shared.loc(entry.span), entry.is_whole, entry.each, check::better_of(entry)});
  }
  tables.recomputed = recomputed_blocks(program);
  lower_externs(shared);
  lower_functions(shared);
  lower_objects(shared);
  lower_hparams(shared);
  lower_topologies(shared);
  lower_tests(shared);
  lower_experiments(shared);
  for (const check::Obligation& obligation : distinct_obligations(program, nullptr))
    tables.obligations.push_back({obligation.text, check::word_of(obligation.fate), shared.loc(obligation.span)});
  module.tables = std::make_shared<const ir::Tables>(std::move(tables));
  return module;
}

}  // namespace ltr::lower
