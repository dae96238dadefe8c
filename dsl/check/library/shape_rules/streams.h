#pragma once

// What the rules of sources and stages share.

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

/// A stream of records with these fields, or of batches.
Type stream_of(std::vector<TypeField> fields, bool is_batched = false);
/// Whether records can have these fields: tensors, and host values that a cell holds.
bool check_record(const std::vector<TypeField>& fields, Span span, Context& cx);
/// Whether a stage that takes records stands in front of `collate`: E0322.
bool stands_before_batches(const Type& stream, CallSite& site);
/// A stage of arguments as they are declared; unset where one is wrong.
std::optional<Expr> stage(const FnInfo& op, CallSite& site);
/// `stream` mapped by the function that `site` gives behind it. That of `synthetic` may take the number of the record alone.
Expr map_stream(Expr stream, bool is_numbered, CallSite& site);

/// W0301 of what the function of a map divides: its ints are data, and few of those divide.
void warn_of_quotients(const FnInfo& map, Scope& scope);

/// What the function that is `given` makes of each record of `stream`, one `wanted` value: a stream of it alone.
Expr mapped_value(const ExprView& stream, const Given& given, const Type& wanted, CallSite& site);

/// What `by` of a stage gives of each record.
struct WantedValue {
  Type made;                       ///< what a function makes
  bool (*fits)(const Type& type);  ///< whether a field has one
  const char* description;         ///< of such a field
};
/// The name of the field that `by` names, or a stream of what the function that it is makes.
Expr value_by(const ExprView& stream, const Given& by, const WantedValue& wanted, CallSite& site);
/// Whether `name`, if it is a text that is known, names a field of `stream`; E-reports it otherwise.
bool names_field(const ExprView& name, const Type& stream, Context& cx);

}  // namespace ltr::check
