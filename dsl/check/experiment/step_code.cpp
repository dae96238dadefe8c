#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/scope/reported.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// A step and the functions that it calls, and those that they call; the step first.
std::vector<uint32_t> run_by(uint32_t step, Context& cx) {
  std::set<uint32_t> seen = {step};
  std::vector<uint32_t> order = {step};
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t callee : cx.declared.callees[order[i]]) {
      if (seen.insert(callee).second) order.push_back(callee);
    }
  }
  return order;
}

/// Looks at what a step runs: at `fn`, which is the step itself or a function that it calls.
class StepCode {
 public:
  StepCode(const Fn& step, bool is_step, Context& cx) : step_(step), is_step_(is_step), cx_(cx) {}

  void look_at(const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    if (op == nullptr) return;
    const bool trains = step_.name == kTrainRole;
    const bool is_text = library::info(op->op).space == library::Space::Texts || op->op == library::Id::SliceText;
    // That of the step itself was looked at as it was read.
    if (op->op == library::Id::Item && trains && !is_step_) {
      report(diag::item_in_train_step(expr.span), "return the tensor itself, and choose with `where(…)` on the device");
    } else if (op->op == library::Id::Grad && !trains) {
      report(diag::wrong_place(expr.span, "`step " + step_.name + "` runs without gradients, and `grad` asks for one"),
             "take it in `step train`, or in a `test`");
    } else if (op->op == library::Id::EmaUpdate && is_step_ && find_role(step_.name) != nullptr && !trains) {
      report(diag::wrong_place(expr.span, "`step " + step_.name + "` measures weights, and `ema_update` moves some"),
             "it stands in `step train`, behind `minimize`");
    } else if (is_text && !std::exchange(has_text_, true)) {
      report(diag::wrong_place(expr.span, "methods of text stand in maps, hooks, tests and settings"),
             "make numbers of texts in a map of the data");
    }
  }

 private:
  void report(diagnostics::Diagnostic diagnostic, const char* help) {
    // A step that is a copy, and what several steps run, is the same code.
    if (is_reported(cx_, diagnostic.code, diagnostic.span)) return;
    if (!is_step_) diagnostic.label(step_.span, "this step runs it");
    diagnostic.helps.emplace_back(help);
    cx_.report(std::move(diagnostic));
  }

  const Fn& step_;
  bool is_step_;
  bool has_text_ = false;
  Context& cx_;
};

}  // namespace

void check_code_of_steps(Context& cx) {
  for (const Object& model : cx.program.models) {
    for (const uint32_t step : model.fns) {
      if (cx.program.fns[step].role != FnRole::Step) continue;
      for (const uint32_t fn : run_by(step, cx)) {
        StepCode code(cx.program.fns[step], fn == step, cx);
        for_each_expr(cx.program.fns[fn].body, cx.program, [&](const ExprView& expr) { code.look_at(expr); });
      }
    }
  }
}

}  // namespace ltr::check
