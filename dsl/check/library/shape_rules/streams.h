#pragma once

// What the rules of sources and stages share.

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

/// A stream of records with these fields, or of batches.
Type stream_of(std::vector<TypeField> fields, bool is_batched = false);
/// Whether records can have these fields: tensors, and host values that a cell holds.
bool check_record(const std::vector<TypeField>& fields, Span span, Context& cx);
/// A stage of arguments as they are declared; unset where one is wrong.
std::optional<Expr> stage(const FnInfo& op, CallSite& site);
/// `stream` mapped by the function that `site` gives behind it. That of `synthetic` may take the number of the record alone.
Expr map_stream(Expr stream, bool is_numbered, CallSite& site);

/// What the function that is `given` makes of each record of `stream`, one `wanted` value: a stream of it alone.
Expr mapped_value(const ExprView& stream, const Given& given, const Type& wanted, CallSite& site);

}  // namespace ltr::check
