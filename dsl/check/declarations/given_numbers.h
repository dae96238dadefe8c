#pragma once

// What experiments give the params of a model, where that is a whole number.

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// By the name of the param.
using GivenNumbers = std::unordered_map<std::string_view, int64_t>;

/// A whole number that its text says: a literal, a constant or an hparam of the program, sums and products of them. `own` are
/// names that stand before those of the module: params, with what they are given; one without a number is not known.
std::optional<int64_t> whole_number(const ast::Expr& expr, uint32_t module, const Context& cx,
                                    const std::vector<ast::Param>* own = nullptr, const GivenNumbers* given = nullptr);

/// One for each experiment that builds the model itself, `model = Net(8)`, with its settings as they are written.
std::vector<GivenNumbers> given_numbers(const ast::Decl& model, const Context& cx);

}  // namespace ltr::check
