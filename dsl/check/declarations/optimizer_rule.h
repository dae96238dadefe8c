#pragma once

// What an optimizer and the groups of one are made of: a rule of the library, and weights.

#include "dsl/check/declarations/declarations.h"

namespace ltr::check {

/// What a call of an optimizer's rule takes: the weights, then its settings. Nothing where it is none.
const std::vector<ParamInfo>* rule_params(const ast::Expr& value, Context& cx);
/// A value that is to be a rule: where it calls nothing that there is, the rules are listed.
Expr check_rule(const ast::Expr& value, Scope& scope);
/// E0309 where more weights are given than a rule takes: `Adam(a.weights, b.weights)`, which takes one argument, or any in
/// the rule of a group, which takes none.
bool report_weights_beside(const ast::Expr& value, size_t taken, const ObjectInfo& object, Context& cx);

/// E0409 of a rule that a member is: `opt = SGD(net.weights, lr = 0.1)`.
diagnostics::Diagnostic undeclared_optimizer(const ast::Name& member);

/// What may be set in the braces of an optimizer.
std::vector<std::string> optimizer_settings();
/// And in those of a group, which may have all that its rule takes.
std::vector<std::string> group_settings(std::vector<std::string> of_rule);

}  // namespace ltr::check
