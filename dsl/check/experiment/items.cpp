#include "dsl/check/declarations/declarations.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

void find_items(const Body& body, const Context& cx, std::vector<Span>& found);

void find_items(const ExprView& expr, const Context& cx, std::vector<Span>& found) {
  const auto* op = expr.get<node::Op>();
  if (op != nullptr && op->op == library::Id::Item) found.push_back(expr.span);
  for_each_child(expr, [&](ExprId child) { find_items(cx.at(child), cx, found); });
  for_each_body(expr, [&](const Body& body) { find_items(body, cx, found); });
}

void find_items(const Body& body, const Context& cx, std::vector<Span>& found) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { find_items(cx.at(child), cx, found); });
    for_each_body(stmt, [&](const Body& inner) { find_items(inner, cx, found); });
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
        if (at != step) find_items(cx.program.fns[at].body, cx, found);
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
