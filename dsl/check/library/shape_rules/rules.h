#pragma once

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// A call of `op`, with its type; an error node after reporting.
using ShapeRule = Expr (*)(const FnInfo& op, CallSite& site);

// One function for each rule that the table of library functions names.
#define LTR_ROW(id, name, space, rule, ...) Expr rule(const FnInfo& op, CallSite& site);
#include "dsl/library/functions.def"

// What the rules share.

/// A call of `op` that gives a value of `type`.
Expr typed_call(const FnInfo& op, Type type, CallSite& site, std::vector<Expr> args);
/// Arguments by position and name, each as its declared type, without matching shapes.
std::optional<std::vector<Expr>> plain_arguments(const FnInfo& op, CallSite& site);
/// The axis that `arg` names, from 0, in a tensor of `rank` dims (`extra`: one past the end is
/// allowed).
std::optional<size_t> axis_of(const ExprView& arg, const Type& tensor, CallSite& site, bool extra = false);
/// Leading ints of a call, or one list: the dims. `keep` positional arguments at the end are not
/// dims.
std::optional<Expr> take_dims(CallSite& site, size_t first, size_t keep);
/// What a list of ints says of a tensor's sizes; E0309 if not even how many there are.
std::optional<std::vector<Dim>> dims_of(const ExprView& list, CallSite& site);
/// The value of an argument that shall be a tensor: a list of host numbers becomes one.
Expr tensor_given(const Given& given, CallSite& site);
/// Whether `type` is a tensor; reports it otherwise.
bool want_tensor(const ExprView& expr, CallSite& site);
/// Beside the tensor args[of] a host number args[at] takes its element type, if it fits.
void adopt_element(std::vector<Expr>& args, size_t of, size_t at, const Context& cx);

}  // namespace ltr::check
