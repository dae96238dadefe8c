#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// A step and the functions that it calls, and those that they call; the step first.
std::vector<uint32_t> run_by(uint32_t step, Context& cx) {
  std::set<uint32_t> seen = {step};
  std::vector<uint32_t> order = {step};
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t callee : cx.callees[order[i]]) {
      if (seen.insert(callee).second) order.push_back(callee);
    }
  }
  return order;
}

/// The step itself was looked at as it was read; here are the functions that it calls.
void check_items(const std::vector<uint32_t>& fns, Context& cx) {
  for (size_t i = 1; i < fns.size(); ++i) {
    for_each_expr(cx.program.fns[fns[i]].body, cx.program, [&](const ExprView& expr) {
      const auto* op = expr.get<node::Op>();
      if (op == nullptr || op->op != library::Id::Item) return;
      cx.report(diag::item_in_train_step(expr.span)
                    .label(cx.program.fns[fns[0]].span, "this step runs it")
                    .help("return the tensor itself, and choose with `where(…)` on the device"));
    });
  }
}

void check_texts(const std::vector<uint32_t>& fns, Context& cx) {
  for (const uint32_t fn : fns) {
    bool is_reported = false;
    for_each_expr(cx.program.fns[fn].body, cx.program, [&](const ExprView& expr) {
      const auto* op = expr.get<node::Op>();
      const bool is_text =
          op != nullptr && (library::info(op->op).space == library::Space::Texts || op->op == library::Id::SliceText);
      if (!is_text || std::exchange(is_reported, true)) return;
      diagnostics::Diagnostic diagnostic =
          diag::wrong_place(expr.span, "methods of text stand in maps, hooks, tests and settings");
      if (fn != fns[0]) diagnostic.label(cx.program.fns[fns[0]].span, "this step runs it");
      cx.report(std::move(diagnostic.help("make numbers of texts in a map of the data")));
    });
  }
}

/// Steps that evaluate record nothing that could be differentiated.
void check_grads(const std::vector<uint32_t>& fns, Context& cx) {
  for (const uint32_t fn : fns) {
    for_each_expr(cx.program.fns[fn].body, cx.program, [&](const ExprView& expr) {
      const auto* op = expr.get<node::Op>();
      if (op == nullptr || op->op != library::Id::Grad) return;
      const Fn& step = cx.program.fns[fns[0]];
      diagnostics::Diagnostic diagnostic =
          diag::wrong_place(expr.span, "`step " + step.name + "` runs without gradients, and `grad` asks for one");
      if (fn != fns[0]) diagnostic.label(step.span, "this step runs it");
      cx.report(std::move(diagnostic.help("take it in `step train`, or in a `test`")));
    });
  }
}

}  // namespace

void check_items_of_steps(Context& cx) {
  for (const Object& model : cx.program.models) {
    for (const uint32_t step : model.fns) {
      if (cx.program.fns[step].role != FnRole::Step) continue;
      const std::vector<uint32_t> fns = run_by(step, cx);
      if (cx.program.fns[step].name == "train") check_items(fns, cx);
      if (cx.program.fns[step].name != "train") check_grads(fns, cx);
      check_texts(fns, cx);
    }
  }
}

}  // namespace ltr::check
