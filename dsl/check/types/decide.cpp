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

/// Whether it is above 0 whatever sizes stand in it: `1 + width`.
bool is_above_zero(const Polynomial& value, const Context& cx) {
  if (!value.terms().contains(Monomial{}) || !all_of_one_sign(value) || value.terms().at(Monomial{}) < 0) return false;
  const std::vector<AtomId> atoms = value.atoms();
  return rests_on_params(value, cx) && std::all_of(atoms.begin(), atoms.end(), [&](AtomId id) {
           return cx.program.atoms.at(id).kind == Atom::Kind::Variable;
         });
}

/// Whether what hparams promise, `size > 0`, keeps `difference` at or below `most`: it is so many times one of theirs and a rest.
bool follows_from_bounds(const Polynomial& difference, int64_t most, const Context& cx) {
  if (cx.facts.empty()) return false;
  for (const size_t index : cx.facts.about(difference.atoms())) {
    const Requirement& fact = cx.facts[index];
    if (fact.kind != Requirement::Kind::AtMost && fact.kind != Requirement::Kind::Less) continue;
    const Polynomial promised = fact.left - fact.right;
    const auto first = std::find_if(promised.terms().begin(), promised.terms().end(),
                                    [](const auto& term) { return !term.first.empty(); });
    if (first == promised.terms().end()) continue;
    const auto same = difference.terms().find(first->first);
    if (same == difference.terms().end() || same->second % first->second != 0 || same->second / first->second < 1)
      continue;
    const int64_t times = same->second / first->second;
    const auto rest = (difference - promised * times).constant();
    const int64_t bound = fact.kind == Requirement::Kind::Less ? -1 : 0;
    if (rest && times * bound + *rest <= most) return true;
  }
  return false;
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
  if (cx.facts.empty()) return Truth::Open;
  std::vector<AtomId> atoms = left.atoms();
  const std::vector<AtomId> others = right.atoms();
  atoms.insert(atoms.end(), others.begin(), others.end());
  for (const size_t index : cx.facts.about(atoms)) {
    const Requirement& fact = cx.facts[index];
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
      if (!constant && follows_from_bounds(difference, requirement.kind == Requirement::Kind::AtMost ? 0 : -1, cx))
        return Truth::Proven;
      if (!constant && requirement.is_of_weight && is_above_zero(difference, cx)) return Truth::False;
      if (!constant) return Truth::Open;
      const bool holds = requirement.kind == Requirement::Kind::AtMost ? *constant <= 0 : *constant < 0;
      return holds ? Truth::Proven : Truth::False;
    }
    case Requirement::Kind::Broadcasts:
    case Requirement::Kind::OneForEach:
    case Requirement::Kind::Indexes:
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

namespace {

/// `ceil(a / n)` as `floor((a + n - 1) / n)`, in which windows are counted.
Polynomial without_ceilings(const Polynomial& value, AtomTable& atoms) {
  AtomTable::Substitution floors;
  for (const AtomId id : atoms.deep_atoms(value)) {
    const Atom atom = atoms.at(id);  // A copy: interning may move the table.
    const auto number = atom.right.constant();
    if (atom.kind != Atom::Kind::Ceil || !number || *number <= 0) continue;
    floors[id] = atoms.floor(without_ceilings(atom.left, atoms) + (*number - 1), *number);
  }
  return floors.empty() ? value : atoms.substitute(value, floors);
}

/// Of names whose multiples are known, what stands for them: `4 y` for an `H` where `H % 4 == 0`.
AtomTable::Substitution multiples(const std::vector<AtomId>& names, Context& cx) {
  AtomTable::Substitution result;
  for (const AtomId id : names) {
    const Polynomial name = Polynomial::atom(id);
    std::optional<Polynomial> number, shift;
    for (const size_t index : cx.facts.about({id})) {
      const Requirement& fact = cx.facts[index];
      const bool is_about = fact.kind == Requirement::Kind::Divisible && (fact.left - name).constant();
      if (!is_about || fact.right == Polynomial(0)) continue;
      if (!number) {
        number = fact.right;
        shift = fact.left - name;
      } else if (number->constant() && fact.right.constant() && *shift == fact.left - name) {
        const int64_t common = std::gcd(*number->constant(), *fact.right.constant());
        const Polynomial both = Polynomial(*number->constant() / common) * fact.right;
        if (!both.is_lost()) number = both;
      }
    }
    if (!number) continue;
    // A name of its own: `H / 4` times 4 were `H` again.
    const Atom atom = cx.program.atoms.at(id);
    const AtomId times = cx.program.atoms.variable(atom.name + " / " + cx.text(*number), atom.key);
    result[id] = cx.program.atoms.multiply(*number, Polynomial::atom(times)) - *shift;
  }
  return result;
}

}  // namespace

bool are_same_size(const Polynomial& left, const Polynomial& right, Context& cx) {
  AtomTable& atoms = cx.program.atoms;
  const Polynomial difference = without_ceilings(left, atoms) - without_ceilings(right, atoms);
  if (difference == Polynomial(0)) return true;
  if (cx.facts.empty() || difference.is_lost() || difference.constant()) return false;
  return atoms.substitute(difference, multiples(atoms.deep_atoms(difference), cx)) == Polynomial(0);
}

}  // namespace ltr::check
