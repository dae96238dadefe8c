#include <algorithm>
#include <set>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

struct LogFinder {
  bool found = false;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Stmt& stmt) {
    found = found || stmt.get<ast::Log>() != nullptr;
    ast::for_each_child(stmt, *this);
  }
};

}  // namespace

bool is_told_of_steps(const ObjectInfo& model, const std::string& name) {
  return std::any_of(model.fns.begin(), model.fns.end(), [&](const auto& one) {
    const FnInfo& fn = *one.second;
    if (fn.role != FnRole::Step || step_meant_by(fn) != name) return false;
    LogFinder finder;
    for (const ast::Stmt& stmt : fn.ast->body) finder(stmt);
    return finder.found;
  });
}

std::optional<std::string> step_meant_by(const FnInfo& step) {
  std::vector<std::string> missing;
  for (const RoleRow& role : kRoleRows) {
    if (!step.owner->fns.contains(std::string(role.name))) missing.emplace_back(role.name);
  }
  // `training`, `validation_step` and `test_step` are what others call them.
  const auto meant = std::find_if(missing.begin(), missing.end(),
                                  [&](const std::string& name) { return step.name.starts_with(name); });
  return meant != missing.end() ? *meant : diagnostics::suggest(step.name, missing);
}

namespace {

std::set<FnId> called_methods(const Program& program) {
  std::set<FnId> called;
  for (ExprId id; id.index < program.exprs.size(); ++id.index) {
    if (const auto* call = program.exprs[id].get<node::CallMethod>()) called.insert(call->fn);
  }
  return called;
}

/// `step val` of a model that no experiment gives a stream to validate on. The other roles have verbs of their own, which say so.
void check_unfed_val(const ObjectInfo& model, const FnInfo& step, Context& cx) {
  if (cx.sink->has_errors()) return;  // The stream may be what could not be read.
  const DataObject* wired = nullptr;
  for (const Experiment& one : cx.program.experiments) {
    if (one.model != model.index) continue;
    const DataObject& data = cx.program.datas[one.data];
    const bool is_fed = std::any_of(data.streams.begin(), data.streams.end(),
                                    [](const StreamDecl& stream) { return stream.role == kValRole; });
    if (is_fed || data.streams.empty()) return;
    wired = &data;
  }
  if (wired == nullptr) return;
  cx.report(diag::uncalled_step(step.ast->name.span, step.name)
                .label(wired->object.span, "data `{}` has no stream `val`", wired->object.name)
                .help("give it the records to validate on: `val = … |> collate(…)`, or take the step away"));
}

/// Whether what watches a series of this role was told that the model has no step for it.
bool is_lack_told(const Object& model, const Context& cx) {
  return std::ranges::any_of(cx.sink->reported(), [&](const diagnostics::Diagnostic& one) {
    return one.code == diagnostics::Code::E0415 &&
           std::ranges::any_of(one.labels, [&](const auto& label) { return label.span == model.span; });
  });
}

/// W0511: a stream `val` or `test` of data that only models without such a step are trained on.
void check_unmeasured(Context& cx, DeclIndex index, const std::string& role, const std::set<FnId>& called) {
  const DataObject& data = cx.program.datas[index];
  const auto stream_of = [&](const std::string& wanted) {
    return std::ranges::find_if(data.streams, [&](const StreamDecl& one) { return one.role == wanted; });
  };
  const auto stream = stream_of(role);
  if (stream == data.streams.end() || stream->value.type.is_error()) return;
  if (stream_of("train") == data.streams.end()) return;
  const Object* trained = nullptr;
  for (const Experiment& one : cx.program.experiments) {
    if (one.data != index) continue;
    const Object& model = cx.program.models[one.model];
    // A step that nothing calls may well be meant to measure.
    const bool measures = std::ranges::any_of(model.fns, [&](FnId id) {
      const Fn& fn = cx.program.fns[id];
      return fn.role == FnRole::Step && (fn.name == role || (!is_role(fn.name) && !called.contains(id)));
    });
    if (measures || model.is_damaged) return;
    trained = &model;
  }
  // Of what `step test` is without a `step val` to copy nothing can be said yet.
  if (trained == nullptr || is_lack_told(*trained, cx)) return;
  diagnostics::Diagnostic diagnostic = diag::unmeasured_stream(stream->span, role);
  diagnostic.label(trained->span, "`{}` has no `step {}`", trained->name, role);
  const bool has_val = std::ranges::any_of(trained->fns, [&](FnId id) {
    return cx.program.fns[id].role == FnRole::Step && cx.program.fns[id].name == kValRole;
  });
  if (role == kTestRole && has_val) {
    diagnostic.help("`step test = val` measures it as `val` is measured");
  } else {
    diagnostic.help("give the model a `step {}`, or take the stream away", role);
  }
  cx.report(std::move(diagnostic));
}

}  // namespace

void check_uncalled_steps(Context& cx) {
  const std::set<FnId> called = called_methods(cx.program);
  for (DeclIndex i = 0; i < cx.program.datas.size(); ++i) {
    const Object& data = cx.program.datas[i].object;
    if (!data.is_damaged && !data.span.is_empty() && cx.graph.module_of(data.span.source) == 0)
      for (const std::string_view role : {kValRole, kTestRole}) check_unmeasured(cx, i, std::string(role), called);
  }
  for (const auto& [place, object] : cx.declared.objects_of_kind) {
    // Another file may have an experiment with this model, and steps that call it; a name that is nearly a role is meant for one.
    const bool is_used =
        std::any_of(cx.program.experiments.begin(), cx.program.experiments.end(),
                    [&](const Experiment& one) { return object->kind == Kind::Model && one.model == object->index; });
    const bool is_here = object->module == 0;
    if (!is_used || object->is_damaged || cx.graph.modules[object->module].is_library) continue;
    for (const auto& [name, fn] : object->fns) {
      if (fn->role != FnRole::Step || called.contains(fn->index)) continue;
      if (name == kValRole && is_here) check_unfed_val(*object, *fn, cx);
      if (is_role(name)) continue;    // The trainer calls it.
      if (fn->is_told_log) continue;  // E0423 asks for the name that is meant.
      if (!is_here && !step_meant_by(*fn)) continue;
      diagnostics::Diagnostic diagnostic = diag::uncalled_step(fn->ast->name.span, name);
      if (const auto near = step_meant_by(*fn))
        add_near(diagnostic, name, fn->ast->name.span, *near);
      else
        diagnostic.help(
            "the trainer calls `train`, `val`, `test` and `predict`; others are called by steps, hooks and tests");
      cx.report(std::move(diagnostic));
    }
  }
}

}  // namespace ltr::check
