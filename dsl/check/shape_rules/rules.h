#pragma once

#include "dsl/check/context.h"

namespace ltr::check {

/// The type of a call whose result shape no signature can say. Gives an error node after reporting.
using ShapeRule = Expr (*)(const FnInfo& op, CallSite& site);

// Creation: dims first, written one by one or as one list.
Expr rule_creation(const FnInfo& op, CallSite& site);
Expr rule_randint(const FnInfo& op, CallSite& site);
// The same elements in another shape.
Expr rule_reshape(const FnInfo& op, CallSite& site);
Expr rule_expand(const FnInfo& op, CallSite& site);
Expr rule_repeat(const FnInfo& op, CallSite& site);
Expr rule_flatten(const FnInfo& op, CallSite& site);
Expr rule_permute(const FnInfo& op, CallSite& site);
Expr rule_transpose(const FnInfo& op, CallSite& site);
Expr rule_squeeze(const FnInfo& op, CallSite& site);
Expr rule_unsqueeze(const FnInfo& op, CallSite& site);
// Several tensors into one, one into several.
Expr rule_cat(const FnInfo& op, CallSite& site);
Expr rule_stack(const FnInfo& op, CallSite& site);
Expr rule_chunk(const FnInfo& op, CallSite& site);
Expr rule_split(const FnInfo& op, CallSite& site);
Expr rule_matmul(const FnInfo& op, CallSite& site);
Expr rule_einsum(const FnInfo& op, CallSite& site);
// Reductions and broadcasts.
Expr rule_reduction(const FnInfo& op, CallSite& site);
Expr rule_cumulative(const FnInfo& op, CallSite& site);
Expr rule_broadcast(const FnInfo& op, CallSite& site);
Expr rule_power(const FnInfo& op, CallSite& site);
Expr rule_where(const FnInfo& op, CallSite& site);
Expr rule_masked_fill(const FnInfo& op, CallSite& site);
// Elements chosen by their places.
Expr rule_topk(const FnInfo& op, CallSite& site);
Expr rule_sort(const FnInfo& op, CallSite& site);
Expr rule_index_select(const FnInfo& op, CallSite& site);
Expr rule_select(const FnInfo& op, CallSite& site);
Expr rule_gather(const FnInfo& op, CallSite& site);
Expr rule_scatter(const FnInfo& op, CallSite& site);
Expr rule_diagonal(const FnInfo& op, CallSite& site);
Expr rule_triangle(const FnInfo& op, CallSite& site);
Expr rule_flip(const FnInfo& op, CallSite& site);
Expr rule_pad(const FnInfo& op, CallSite& site);
Expr rule_axis_checked(const FnInfo& op, CallSite& site);
// Losses.
Expr rule_cross_entropy(const FnInfo& op, CallSite& site);

// ---- helpers shared by the rules
// -------------------------------------------------------------------------------
inline Expr error_node(Span span) {
  return make_expr(ExprKind::Error, Type::error(), span);
}
/// Arguments by position and name, each as its declared type, without matching shapes.
std::optional<std::vector<Expr>> plain_arguments(const FnInfo& op, CallSite& site);
/// The axis that `arg` names, from 0, in a tensor of `rank` dims (`extra`: one past the end is
/// allowed).
std::optional<size_t> axis_of(const Expr& arg,
                              const Type& tensor,
                              CallSite& site,
                              bool extra = false);
/// Leading ints of a call, or one list: the dims. `keep` positional arguments at the end are not
/// dims.
std::optional<Expr> take_dims(CallSite& site, size_t first, size_t keep);
/// What a list of ints says of a tensor's sizes; E0309 if not even how many there are.
std::optional<std::vector<Dim>> dims_of(const Expr& list, CallSite& site);
/// The value of an argument that shall be a tensor: a list of host numbers becomes one.
Expr tensor_given(const Given& given, CallSite& site);
/// Whether `type` is a tensor; reports it otherwise.
bool want_tensor(const Expr& expr, CallSite& site);
/// Beside the tensor args[of] a host number args[at] takes its element type, if it fits.
void adopt_element(std::vector<Expr>& args, size_t of, size_t at);

}  // namespace ltr::check
