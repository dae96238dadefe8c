#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

bool draws(const Context& cx, uint32_t fn) {
  std::set<uint32_t> seen = {fn};
  return draws_random(cx.program, cx.program.fns[fn].body, seen);
}

/// The map in front of a stage that draws random numbers, if there is one.
const Expr* random_map(const Expr& expr, const Context& cx, const DataObject& data) {
  const Expr& stream = behind_lets(expr, data);
  if (stream.kind == ExprKind::MapStage && draws(cx, stream.fn)) return &stream;
  for (const Expr& arg : stream.args) {
    const bool is_stream = arg.type.kind == Kind::Stream || arg.type.kind == Kind::List;
    if (const Expr* map = is_stream ? random_map(arg, cx, data) : nullptr) return map;
  }
  return nullptr;
}

void find_filters(Context& cx, const Expr& expr, const DataObject& data) {
  for (const Expr& arg : expr.args) find_filters(cx, arg, data);
  if (expr.kind != ExprKind::FilterStage) return;
  if (draws(cx, expr.fn)) {
    cx.report(diag::filter_draws(expr.span)
                  .note("it looks at each record once, at the start of a run")
                  .help("`split([0.9, 0.1], seed = 1)` takes a part at random"));
  } else if (const Expr* map = random_map(expr.args[0], cx, data)) {
    cx.report(diag::filter_draws(expr.span)
                  .label(map->span, "this map draws random numbers, others in each epoch")
                  .help("put `filter` in front of `map`"));
  }
}

}  // namespace

void check_filters(Context& cx, const DataObject& data) {
  for (const Member& member : data.object.members) find_filters(cx, member.value, data);
  for (const StreamDecl& stream : data.streams) find_filters(cx, stream.value, data);
}

}  // namespace ltr::check
