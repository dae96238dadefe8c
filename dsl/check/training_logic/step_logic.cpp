#include "dsl/check/context.h"

namespace ltr::check {

namespace {

template <class F>
void each_stmt(const Body& body, const F& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    for (const Body& inner : stmt.bodies) each_stmt(inner, visit);
  }
}

template <class F>
void each_expr(const Expr& expr, const F& visit) {
  visit(expr);
  for (const Expr& arg : expr.args) each_expr(arg, visit);
}

/// What a value is, looked at through the locals of its function.
struct Origin {
  const Fn& fn;

  const Expr& of(const Expr& expr) const {
    if (expr.kind != ExprKind::Local) return expr;
    const Expr* found = nullptr;
    size_t writes = 0;
    each_stmt(fn.body, [&](const Stmt& stmt) {
      if (stmt.kind != StmtKind::Let || stmt.local != expr.local) return;
      ++writes;
      found = &stmt.values[0];
    });
    return writes == 1 && found->kind != ExprKind::Local ? *found : expr;
  }
};

/// Losses that apply their own activation, and what must not stand before them.
bool doubles(const std::string& loss, const std::string& activation) {
  if (loss == "cross_entropy" || loss == "soft_cross_entropy" || loss == "focal")
    return activation == "softmax" || activation == "log_softmax";
  if (loss == "bce_with_logits") return activation == "sigmoid" || activation == "softmax";
  return false;
}

/// The activation that a call of a block ends with: its forward's last result.
std::string final_activation(const Program& program, const Expr& expr, int depth) {
  if (depth > 8) return "";
  if (expr.kind == ExprKind::Op) {
    if (expr.name == "flatten" || expr.name == "reshape" || expr.name == "squeeze")
      return final_activation(program, expr.args[0], depth + 1);
    return expr.name;
  }
  if (expr.kind != ExprKind::CallMethod && expr.kind != ExprKind::CallFn) return "";
  const Fn& fn = program.fns[expr.fn];
  if (fn.body.empty() || fn.body.back().kind != StmtKind::Return || fn.body.back().values.empty())
    return "";
  return final_activation(program, Origin{fn}.of(fn.body.back().values[0]), depth + 1);
}

/// Whether a value may hang on trained tensors by a path that gradients take. Errs on the side of
/// yes.
struct Reach {
  const Context& cx;
  const Fn& fn;
  std::set<LocalId> seen;
  Span cut;  ///< the last place where a path was cut

  bool of(const Expr& expr) {
    static const std::set<std::string> kCuts = {
        "stop_grad", "argmax", "argmin", "eq",   "ne",      "lt",     "le",   "gt",       "ge",
        "sign",      "round",  "floor",  "ceil", "one_hot", "sample", "item", "item_int", "numel"};
    switch (expr.kind) {
      case ExprKind::Local: {
        if (!seen.insert(expr.local).second) return false;
        if (expr.local < fn.param_count) return false;
        bool reached = false;
        each_stmt(fn.body, [&](const Stmt& stmt) {
          const bool assigns =
              (stmt.kind == StmtKind::Let && stmt.local == expr.local) ||
              (stmt.kind == StmtKind::Unpack &&
               std::find(stmt.locals.begin(), stmt.locals.end(), expr.local) != stmt.locals.end());
          if (assigns && !reached) reached = of(stmt.values[0]);
        });
        return reached;
      }
      case ExprKind::Op:
        if (kCuts.contains(expr.name) || (expr.name == "to" && !is_floating(expr.type.element))) {
          cut = expr.span;
          return false;
        }
        break;
      case ExprKind::Member: {
        const ObjectInfo* self =
            expr.args.empty() ? nullptr
                              : find_object(cx, expr.args[0].type.kind, expr.args[0].type.decl);
        const auto member = self == nullptr || expr.whole == 1 ? decltype(self->members.begin()){}
                                                               : self->members.find(expr.name);
        return self != nullptr && expr.whole == 0 && member != self->members.end() &&
               member->second.kind != MemberKind::Buffer && member->second.kind != MemberKind::Let;
      }
      case ExprKind::CallMethod:
      case ExprKind::ApplyList:
        return true;
      default:
        break;
    }
    return std::any_of(expr.args.begin(), expr.args.end(),
                       [&](const Expr& arg) { return of(arg); });
  }
};

void check_reach(Context& cx, const Fn& fn) {
  each_stmt(fn.body, [&](const Stmt& stmt) {
    if (stmt.kind != StmtKind::Minimize || stmt.values.size() < 2) return;
    Reach reach{cx, fn, {}, {}};
    if (reach.of(stmt.values[0])) return;
    diagnostics::Diagnostic diagnostic =
        diag::loss_reaches_nothing(stmt.values[0].span, stmt.values[1].name);
    if (!reach.cut.is_empty()) diagnostic.label(reach.cut, "no gradient passes here");
    cx.report(std::move(diagnostic));
  });
}

void check_activations(Context& cx, const Fn& fn) {
  const Origin origin{fn};
  each_stmt(fn.body, [&](const Stmt& stmt) {
    for (const Expr& value : stmt.values) {
      each_expr(value, [&](const Expr& expr) {
        if (expr.kind != ExprKind::Op || expr.args.empty()) return;
        const Expr& input = origin.of(expr.args[0]);
        const std::string activation = final_activation(cx.program, input, 0);
        if (!doubles(expr.name, activation)) return;
        cx.report(diag::double_activation(expr.args[0].span, expr.name, activation)
                      .label(input.span, "`{}` here", activation)
                      .note("`{}` applies it itself; twice makes gradients vanish", expr.name)
                      .help("give it the values before `{}`", activation));
      });
    }
  });
}

}  // namespace

void check_step_logic(Context& cx, const ObjectInfo& model) {
  std::set<std::string> used;
  std::set<uint32_t> reported;
  std::map<std::string, std::pair<std::string, Span>>
      metrics;  // metric member -> step that uses it
  for (const std::string& name : model.fn_order) {
    const FnInfo& info = *model.fns.at(name);
    const Fn& fn = cx.program.fns[info.index];
    bool minimizes = false;
    bool has_error = false;
    each_stmt(fn.body, [&](const Stmt& stmt) {
      has_error = has_error || stmt.kind == StmtKind::Error;
      if (stmt.kind == StmtKind::Minimize) {
        minimizes = true;
        if (stmt.values.size() > 1) used.insert(stmt.values[1].name);
      }
      for (const Expr& value : stmt.values) {
        each_expr(value, [&](const Expr& expr) {
          has_error = has_error || expr.kind == ExprKind::Error;
          if (expr.kind != ExprKind::CallMetric || expr.args.empty()) return;
          const std::string& member = expr.args[0].name;
          const auto [place, is_new] = metrics.try_emplace(member, name, expr.span);
          // `step test = val` has metric objects of its own.
          const bool copies_first = model.fns.at(place->second.first)->ast == info.ast;
          if (is_new || place->second.first == name || copies_first ||
              reported.contains(expr.span.begin))
            return;
          reported.insert(expr.span.begin);
          cx.report(diag::metric_shared(expr.span, member, place->second.first, name)
                        .label(place->second.second, "first here")
                        .help("declare a second one, `{}_{} = …`", name, member));
        });
      }
    });
    if (info.role != FnRole::Step) continue;
    check_activations(cx, fn);
    if (!has_error) check_reach(cx, fn);
    if (name == "train" && !minimizes && !has_error) {
      cx.report(diag::minimizes_nothing(fn.span).help("`minimize loss` makes one update"));
    }
  }
  if (!model.fns.contains("train")) return;
  const Fn& train = cx.program.fns[model.fns.at("train")->index];
  bool train_has_error = train.body.empty();
  each_stmt(train.body, [&](const Stmt& stmt) {
    train_has_error = train_has_error || stmt.kind == StmtKind::Error;
  });
  if (train_has_error || used.empty()) return;
  for (const Member& member : cx.program.models[model.index].members) {
    if (member.kind == MemberKind::Optimizer && !used.contains(member.name)) {
      cx.report(diag::optimizer_unused(member.span, member.name));
    }
  }
}

}  // namespace ltr::check
