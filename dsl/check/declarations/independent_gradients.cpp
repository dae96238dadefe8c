// W0419: `grad(y, x)` of a `y` that is computed without `x`.

#include <algorithm>
#include <set>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// The locals of a function that may be computed from one of them, whichever way its code takes.
class Dependents {
 public:
  Dependents(const Fn& fn, LocalId by, const Program& program) : program_(program), locals_{by} {
    // Whoever calls it may have computed one param from another; fields of a batch are on their own.
    for (LocalId param = 0; by < fn.param_count && fn.role != FnRole::Step && param < fn.param_count; ++param)
      locals_.insert(param);
    for (size_t before = 0; before != locals_.size();) {
      before = locals_.size();
      add(fn.body);
    }
  }

  /// Whether a value may be computed from it, and a gradient come back to it.
  bool has(ExprId id) const {
    const ExprView& expr = program_.exprs[id];
    const auto* local = expr.get<node::Local>();
    const auto* op = expr.get<node::Op>();
    const bool is_stopped = op != nullptr && op->op == library::Id::StopGrad;
    bool is_found = (local != nullptr && locals_.contains(local->local)) || (keeps_it_ && expr.is<node::Member>());
    for_each_child(expr, [&](ExprId child) { is_found = is_found || has(child); });
    for_each_body(expr, [&](const Body& body) { is_found = is_found || has(body); });
    if (is_found && is_stopped) stopped_ = expr.span;
    return is_found && !is_stopped;
  }
  /// Where `stop_grad` keeps what is computed from it apart, if that was met.
  const std::optional<Span>& stopped() const { return stopped_; }

 private:
  bool has(const Body& body) const {
    bool is_found = false;
    for (const Stmt& stmt : body) {
      for_each_child(stmt, [&](ExprId child) { is_found = is_found || has(child); });
      for_each_body(stmt, [&](const Body& inner) { is_found = is_found || has(inner); });
    }
    return is_found;
  }

  void add(const Body& body) {
    for (const Stmt& stmt : body) {
      const auto* let = stmt.get<stmt::Let>();
      const auto* unpack = stmt.get<stmt::Unpack>();
      const auto* set = stmt.get<stmt::SetMember>();
      if (let != nullptr && has(let->value)) locals_.insert(let->local);
      if (unpack != nullptr && has(unpack->value)) locals_.insert(unpack->locals.begin(), unpack->locals.end());
      keeps_it_ = keeps_it_ || (set != nullptr && has(set->value));
      for_each_body(stmt, [&](const Body& inner) { add(inner); });
    }
  }

  const Program& program_;
  std::set<LocalId> locals_;
  mutable std::optional<Span> stopped_;
  bool keeps_it_ = false;  ///< in a buffer or state, from which it may be read again
};

/// What is computed where it stands: nothing can be computed from it.
bool is_new(const ExprView& expr) {
  const auto* op = expr.get<node::Op>();
  return (op != nullptr && op->op != library::Id::Tracked) || expr.is<node::CallFn>() || expr.is<node::CallMethod>();
}

/// Whether a value is one that has a name already.
bool is_there(const ExprView& value, const Program& program) {
  const auto* op = value.get<node::Op>();
  if (op != nullptr && op->op == library::Id::Tracked) return is_there(program.exprs[op->args[0]], program);
  return value.is<node::Member>() || value.is<node::Local>();
}

/// Whether a line makes a local another name for what is there, `w = layer.weight`.
bool is_other_name(LocalId local, const Body& body, const Program& program) {
  return std::ranges::any_of(body, [&](const Stmt& stmt) {
    const auto* let = stmt.get<stmt::Let>();
    bool is_found = let != nullptr && let->local == local && is_there(program.exprs[let->value], program);
    for_each_body(stmt, [&](const Body& inner) { is_found = is_found || is_other_name(local, inner, program); });
    return is_found;
  });
}

void look_at(const Body& body, const Fn& fn, Context& cx);

void look_at(ExprId id, const Fn& fn, Context& cx) {
  const ExprView& expr = cx.at(id);
  for_each_child(expr, [&](ExprId child) { look_at(child, fn, cx); });
  for_each_body(expr, [&](const Body& body) { look_at(body, fn, cx); });
  const auto* op = expr.get<node::Op>();
  if (op == nullptr || op->op != library::Id::Grad || op->args.size() != 2) return;
  const ExprView& by = cx.at(op->args[1]);
  const auto* local = by.get<node::Local>();
  if (local == nullptr ? !is_new(by) : is_other_name(local->local, fn.body, cx.program)) return;
  std::optional<Span> stopped;
  if (local != nullptr) {
    const Dependents dependents(fn, local->local, cx.program);
    if (dependents.has(op->args[0])) return;
    stopped = dependents.stopped();
  }
  const std::string of = cx.source_text(cx.at(op->args[0]).span), name = cx.source_text(by.span);
  diagnostics::Diagnostic diagnostic = diag::no_dependence(expr.span, of, name);
  if (stopped) {
    diagnostic.label(*stopped, "no gradient passes `stop_grad`").help("no `stop_grad` around it");
  } else if (local != nullptr) {
    diagnostic.help("`grad(y, x)` wants the very `x` that `y` is computed from");
  } else {
    diagnostic.note("`{}` is computed anew here", name)
        .help("give it a name in a line of its own, and compute `{}` from that", of);
  }
  cx.report(std::move(diagnostic));
}

void look_at(const Body& body, const Fn& fn, Context& cx) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { look_at(child, fn, cx); });
    for_each_body(stmt, [&](const Body& inner) { look_at(inner, fn, cx); });
  }
}

}  // namespace

void check_independent_gradients(const Fn& fn, Context& cx) { look_at(fn.body, fn, cx); }

}  // namespace ltr::check
