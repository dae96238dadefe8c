#include "dsl/check/expressions/rounds.h"

#include <algorithm>
#include <utility>

namespace ltr::check {

namespace {

bool hangs_on(const Polynomial& value, AtomId variable, const Context& cx) {
  const std::vector<AtomId> atoms = cx.program.atoms.deep_atoms(value);
  return std::find(atoms.begin(), atoms.end(), variable) != atoms.end();
}

}  // namespace

AtomId enter_rounds(const ast::Name& variable, const ExprView& range, Scope& scope) {
  Context& cx = scope.cx;
  const AtomId atom = cx.program.atoms.variable(variable.text, cx.next_key++, false, false, true);
  const auto* bounds = range.get<node::Range>();
  if (bounds == nullptr) return atom;
  const auto& from = cx.at(bounds->from).type.value;
  const auto& to = cx.at(bounds->to).type.value;
  if (!from || !to || cx.program.atoms.mentions_unknown(*from) || cx.program.atoms.mentions_unknown(*to)) return atom;
  const auto is_other_loop = [&](const Rounds& one) {
    return hangs_on(*from, one.variable, cx) || hangs_on(*to, one.variable, cx);
  };
  // Sizes are positive: a loop that is as long as one of them, or a sum, has rounds.
  const Polynomial length = *to - *from;
  const bool is_never_empty = std::ranges::all_of(length.terms(), [](const auto& term) { return term.second > 0; });
  if (is_never_empty && !length.terms().empty() && std::ranges::none_of(scope.rounds, is_other_loop))
    scope.rounds.push_back({atom, *from, *to - 1});
  return atom;
}

bool is_told(const Polynomial& index, Scope& scope) {
  bool is_any = false;
  for (Rounds& rounds : scope.rounds) {
    if (hangs_on(index, rounds.variable, scope.cx)) is_any = std::exchange(rounds.is_told, true) || is_any;
  }
  return is_any;
}

std::optional<Extreme> extreme_of(Polynomial index, bool is_largest, const Scope& scope) {
  AtomTable& atoms = scope.cx.program.atoms;
  if (scope.rounds.empty()) return Extreme{std::move(index), ""};
  Extreme extreme;
  for (const Rounds& rounds : scope.rounds) {
    const auto factor = index.terms().find(Monomial{{rounds.variable, 1}});
    if (factor == index.terms().end()) continue;
    const Polynomial& value = (factor->second > 0) == is_largest ? rounds.last : rounds.first;
    const std::string name = "`" + atoms.at(rounds.variable).name + "` is " + scope.cx.text(value);
    extreme.when += (extreme.when.empty() ? "" : " and ") + name;
    index = index - Polynomial::of({*factor}) + atoms.multiply(factor->second, value);
  }
  const auto is_left = [&](const Rounds& rounds) { return hangs_on(index, rounds.variable, scope.cx); };
  if (std::ranges::any_of(scope.rounds, is_left)) return std::nullopt;
  extreme.index = std::move(index);
  return extreme;
}

}  // namespace ltr::check
