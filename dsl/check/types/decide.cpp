#include <algorithm>
#include <numeric>

#include "dsl/check/types/types.h"
#include "dsl/host/math.h"

namespace ltr::check {

bool rests_on_params(const Polynomial& value, const Context& cx) {
  for (const AtomId id : cx.program.atoms.deep_atoms(value)) {
    const Atom& atom = cx.program.atoms.at(id);
    if (atom.kind == Atom::Kind::Unknown) return false;
    if (atom.kind == Atom::Kind::Variable && atom.is_binder) return false;
  }
  return true;
}

namespace {

bool all_of_one_sign(const Polynomial& value) {
  bool any_positive = false, any_negative = false;
  for (const auto& [monomial, coefficient] : value.terms()) (coefficient > 0 ? any_positive : any_negative) = true;
  return any_positive != any_negative;
}

/// Whether no whole numbers make it zero: `98 * n - 7` leaves a rest.
bool has_no_whole_root(const Polynomial& value) {
  int64_t common = 0, constant = 0;
  for (const auto& [monomial, coefficient] : value.terms()) {
    if (monomial.empty()) {
      constant = coefficient;
    } else {
      common = std::gcd(common, coefficient);
    }
  }
  return common > 1 && constant % common != 0;
}

Truth divides(const Requirement& requirement, const Context& cx) {
  const Polynomial &left = requirement.left, &right = requirement.right;
  if (AtomTable::divide(left, right)) return Truth::Proven;
  if (left.constant() && right.constant()) {
    return host::mod(*left.constant(), *right.constant()) == 0 ? Truth::Proven : Truth::False;
  }
  for (const Requirement& fact : cx.facts) {
    // What is a multiple of 4 is one of 2.
    if (fact.kind != Requirement::Kind::Divisible || !AtomTable::divide(fact.right, right)) continue;
    if (fact.left == left || AtomTable::divide(left, fact.left)) return Truth::Proven;
  }
  return Truth::Open;
}

}  // namespace

Truth decide(const Requirement& requirement, const Context& cx) {
  const Polynomial difference = requirement.left - requirement.right;
  if (difference.is_lost()) return Truth::Open;
  switch (requirement.kind) {
    case Requirement::Kind::Equal:
      if (difference == Polynomial(0)) return Truth::Proven;
      // Sizes are positive, so a sum of them alone is never zero: `D` is not `4 * D`.
      if (difference.constant() || (all_of_one_sign(difference) && rests_on_params(difference, cx))) {
        return Truth::False;
      }
      return has_no_whole_root(difference) ? Truth::False : Truth::Open;
    case Requirement::Kind::Divisible: return divides(requirement, cx);
    case Requirement::Kind::AtMost:
    case Requirement::Kind::Less: {
      const auto constant = difference.constant();
      if (!constant) return Truth::Open;
      const bool holds = requirement.kind == Requirement::Kind::AtMost ? *constant <= 0 : *constant < 0;
      return holds ? Truth::Proven : Truth::False;
    }
    case Requirement::Kind::Broadcasts:
    case Requirement::Kind::OneForEach:
    case Requirement::Kind::Holds: return Truth::Open;  // `require_value` asks.
  }
  return Truth::Open;
}

Polynomial with_facts(const Polynomial& value, Context& cx) {
  AtomTable& atoms = cx.program.atoms;
  AtomTable::Substitution exact;
  for (const AtomId id : cx.facts.empty() ? std::vector<AtomId>() : atoms.deep_atoms(value)) {
    const Atom atom = atoms.at(id);  // A copy: interning may move the table.
    if (atom.kind != Atom::Kind::Floor && atom.kind != Atom::Kind::Ceil) continue;
    // What divides by itself is no part of the fraction: (H - 2) / 2 is H / 2 - 1.
    Polynomial whole, rest;
    for (const auto& [monomial, coefficient] : atom.left.terms()) {
      const Polynomial term = Polynomial::of({{monomial, coefficient}});
      if (const auto divided = AtomTable::divide(term, atom.right)) {
        whole = whole + *divided;
      } else {
        rest = rest + term;
      }
    }
    Requirement divisible;
    divisible.kind = Requirement::Kind::Divisible;
    divisible.left = rest;
    divisible.right = atom.right;
    if (decide(divisible, cx) == Truth::Proven) exact[id] = whole + atoms.exact(rest, atom.right);
  }
  return exact.empty() ? value : atoms.substitute(value, exact);
}

}  // namespace ltr::check
