// W0309: a tensor that a block draws when it is built, and that no checkpoint holds.

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// What code that is handed in does is not known.
bool calls_what_is_given(const ExprView& expr, const Program& program) {
  return expr.is<node::CallValue>() ||
         any_child(expr, [&](ExprId part) { return calls_what_is_given(program.exprs[part], program); });
}

void look_at(const Object& object, KnownDraws& known, Context& cx) {
  if (object.is_library || object.is_damaged) return;
  for (const Member& member : object.members) {
    if (member.kind != MemberKind::Let || !member.type.is_tensor()) continue;
    const ExprView value = member.value;
    if (calls_what_is_given(value, cx.program) || !draws_random(cx.program, value, known)) continue;
    cx.report(diag::drawn_member(member.span, member.name)
                  .note("`--weights` of a run with another seed loads what belongs to another `{}`", member.name)
                  .help("a buffer is saved with the weights: `buffer {}: {} = {}`", member.name, cx.text(member.type),
                        cx.source_text(member.value.span)));
  }
}

}  // namespace

void check_drawn_members(Context& cx) {
  KnownDraws known;
  for (const Object& block : cx.program.blocks) look_at(block, known, cx);
  for (const Object& model : cx.program.models) look_at(model, known, cx);
}

}  // namespace ltr::check
