#pragma once

// Where the type of a value is written, in a line that may be the one that is wrong.

#include "dsl/check/scope/scope.h"

namespace ltr::check {

/// Adds that a value has its type from a field of a record, a state or the result of a function, where that is written in one place.
void label_declared(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Scope& scope);

/// The same of the field `name`, of which facts are asked.
void label_declared_field(diagnostics::Diagnostic& diagnostic, const std::string& name, const Scope& scope);

}  // namespace ltr::check
