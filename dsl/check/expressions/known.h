#pragma once

// What is known of a stream: the facts of its fields, its words.

#include "dsl/check/expressions/call.h"

namespace ltr::check {

/// Field `name` of facts, of the facts of a field, or of a vocabulary.
Expr known_field(Expr base, const ast::Name& name, Span span, Scope& scope);
/// A method of a vocabulary; nothing if it has none of this name.
std::optional<Expr> vocabulary_call(Expr base, CallSite& site);
/// `data.words.decode(ids)` in `step predict`: texts of the batch, by a vocabulary that the wired data must have.
std::optional<Expr> decode_in_predict(const ast::Field& method, CallSite& site);

}  // namespace ltr::check
