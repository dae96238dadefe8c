#pragma once

// What an experiment wires together.

#include "dsl/check/scope/context.h"

namespace ltr::check {

struct Scope;

/// Those of the program's file, and those that it imports.
void check_experiments(Context& cx);
/// The calls of a section of callbacks or loggers, of the library or of the program's own. False if one could not be
/// read that may log.
bool check_all_listed(const ast::Section& section, const std::string& what, Kind kind, Scope& scope,
                      std::vector<Expr>& into);
/// Binds a step's params to the fields of the wired data.
void bind_step(const ExprView& model, const ExprView& data, FnInfo& fn, Experiment& experiment, Scope& scope);

}  // namespace ltr::check
