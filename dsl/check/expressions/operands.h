#pragma once

// Operands that no operator takes.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// E0313 of a function that is not called, `exp * 2`, where a value is meant. Whether there is one.
bool report_function_operand(const Expr& left, const Expr& right, Scope& scope);
/// Code as what `.f()` may stand behind: in brackets where that would be of its last part.
std::string as_base(const std::string& code);
/// Without the dim of one element, or with one more, where the two sides then agree; else how each meets each on purpose.
void add_shape_cure(diagnostics::Diagnostic& diagnostic, const ExprView& longer, const ExprView& shorter, Context& cx);
/// Where the dims of the shorter are the first of the longer, not the last: `[B, D]` and `[B]`. False if they are not.
bool add_unsqueeze_cure(diagnostics::Diagnostic& diagnostic, const ExprView& longer, const ExprView& shorter,
                        const Scope& scope);
/// Adds how places are asked for, where `value` is a row of what `max` gives along an axis, which other libraries give them as:
/// `x.max(1)[1]`.
bool help_places(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Type& wanted, Scope& scope);
/// Where one of the two was made of an `arange` of too many or too few, or by a reduction along the wrong axis: how it is made to
/// fit. False if neither was.
bool add_origin_cure(diagnostics::Diagnostic& diagnostic, const ExprView& left, const ExprView& right, Scope& scope);
/// W0313, W0314: bytes of images are not taken below 0, and are divided by 255 once.
void report_pixels(ast::BinaryOp op, Span sign, const ExprView& left, const ExprView& right, Scope& scope);
/// W0314 of a conversion to whole numbers, `to_float(mask).to(i64)`.
void report_whole_shares(Element element, Span place, const ExprView& value, const Scope& scope);
/// W0314 of `normalize(image, [125.0, …], …)`, whose images are bytes.
void report_byte_means(const node::Op& normalize, const Scope& scope);
/// A text where a value is meant that has such a name: `"limit"`. False if there is none.
bool help_quoted_name(diagnostics::Diagnostic& diagnostic, const ExprView& text, const Scope& scope);

}  // namespace ltr::check
