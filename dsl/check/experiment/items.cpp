#include "dsl/check/declarations/declarations.h"

namespace ltr::check {

namespace {

void find_items(const Body& body, std::vector<Span>& found);

void find_items(const Expr& expr, std::vector<Span>& found) {
  if (expr.op == library::Id::Item) found.push_back(expr.span);
  for (const Expr& arg : expr.args) find_items(arg, found);
  find_items(expr.body, found);
}

void find_items(const Body& body, std::vector<Span>& found) {
  for (const Stmt& stmt : body) {
    for (const Expr& value : stmt.values) find_items(value, found);
    for (const Body& inner : stmt.bodies) find_items(inner, found);
  }
}

}  // namespace

// The step itself was looked at as it was read; here are the functions that it calls, and those that they call.
void check_items_of_steps(Context& cx) {
  for (const Object& model : cx.program.models) {
    for (const uint32_t step : model.fns) {
      const Fn& train = cx.program.fns[step];
      if (train.role != FnRole::Step || train.name != "train") continue;
      std::set<uint32_t> seen = {step};
      std::vector<uint32_t> open = {step};
      while (!open.empty()) {
        const uint32_t at = open.back();
        open.pop_back();
        std::vector<Span> found;
        if (at != step) find_items(cx.program.fns[at].body, found);
        for (const Span span : found) {
          cx.report(diag::item_in_train_step(span)
                        .label(train.span, "this step runs it")
                        .help("return the tensor itself, and choose with `where(…)` on the device"));
        }
        for (const uint32_t callee : cx.callees[at]) {
          if (seen.insert(callee).second) open.push_back(callee);
        }
      }
    }
  }
}

}  // namespace ltr::check
