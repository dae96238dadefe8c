#include "dsl/check/declarations/data_logic/data_logic.h"

namespace ltr::check {

const Expr& behind_lets(const Expr& expr, const DataObject& data) {
  if (expr.kind != ExprKind::Member || expr.args.empty() || expr.args[0].kind != ExprKind::Self)
    return expr;
  for (const Member& member : data.object.members) {
    if (member.name == expr.name) return behind_lets(member.value, data);
  }
  return expr;
}

const Expr* input_of(const Expr& stage) {
  const bool is_stage = stage.kind == ExprKind::MapStage || stage.kind == ExprKind::FilterStage ||
                        stage.kind == ExprKind::ListElement || stage.kind == ExprKind::TupleElement ||
                        (stage.kind == ExprKind::Op && !stage.args.empty() && stage.args[0].type.kind == Kind::Stream);
  return is_stage && !stage.args.empty() ? &stage.args[0] : nullptr;
}

}  // namespace ltr::check
