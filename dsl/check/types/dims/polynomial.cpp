#include "dsl/check/types/dims/polynomial.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "dsl/check/types/dims/hasher.h"
#include "dsl/check/types/types.h"
#include "dsl/host/math.h"

namespace ltr::check {

namespace {

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial both;
  auto left = a.begin(), right = b.begin();
  while (left != a.end() && right != b.end()) {
    if (left->first == right->first) {
      both.emplace_back(left->first, left->second + right->second);
      ++left;
      ++right;
    } else {
      both.push_back(left->first < right->first ? *left++ : *right++);
    }
  }
  both.insert(both.end(), left, a.end());
  both.insert(both.end(), right, b.end());
  return both;
}

/// a / b as monomials, if every power of b is in a.
std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  Monomial rest = a;
  for (const auto& [atom, power] : b) {
    const auto place = std::ranges::find(rest, atom, &Monomial::value_type::first);
    if (place == rest.end() || place->second < power) return std::nullopt;
    place->second -= power;
    if (place->second == 0) rest.erase(place);
  }
  return rest;
}

/// What `op` gives of two constants; nothing if one is none, or it gives nothing.
std::optional<int64_t> of_constants(std::optional<int64_t> (*op)(int64_t, int64_t), const Polynomial& a,
                                    const Polynomial& b) {
  const auto left = a.constant(), right = b.constant();
  return left && right ? op(*left, *right) : std::nullopt;
}

size_t hash_of(const Atom& atom) {
  Hasher hasher;
  hasher.add(size_t(atom.kind));
  hasher.add(atom.name);
  hasher.add(atom.key);
  hasher.add(atom.left);
  hasher.add(atom.right);
  for (const Polynomial& element : atom.elements) hasher.add(element);
  return hasher.hash();
}

}  // namespace

const Polynomial::Terms Polynomial::kNone;

void Polynomial::Sum::add(const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0 || is_lost()) return;
  const auto [place, is_new] = terms.try_emplace(monomial, coefficient);
  if (!is_new && __builtin_add_overflow(place->second, coefficient, &place->second)) loss = Loss::Overflow;
  const bool is_least = place->second == INT64_MIN;
  if (place->second == 0) terms.erase(place);
  // The least number has no opposite, and texts and IR turn the signs of terms. Alone it is a number, the first of all terms.
  const bool has_number = !terms.empty() && terms.begin()->first.empty();
  if (has_number && terms.size() == 1) return;
  if (is_least || (has_number && terms.begin()->second == INT64_MIN)) loss = Loss::Overflow;
  if (terms.size() > kMostTerms) loss = Loss::TooManyTerms;
}

void Polynomial::Sum::add(const Terms& others) {
  for (const auto& [monomial, coefficient] : others) add(monomial, coefficient);
}

Polynomial::Polynomial(Sum sum) {
  if (!sum.terms.empty() || sum.is_lost()) sum_ = new Sum(std::move(sum));
}

Polynomial::Polynomial(int64_t constant) {
  if (constant == 0) return;
  auto* const sum = new Sum;
  sum->terms.try_emplace({}, constant);
  sum_ = sum;
}

Polynomial Polynomial::atom(AtomId id) {
  auto* const sum = new Sum;
  sum->terms.try_emplace(Monomial{{id, 1}}, 1);
  Polynomial result;
  result.sum_ = sum;
  return result;
}

Polynomial Polynomial::of(Terms terms) {
  Sum sum;
  sum.add(terms);
  return Polynomial(std::move(sum));
}

Polynomial Polynomial::overflow() {
  Sum sum;
  sum.loss = Loss::Overflow;
  return Polynomial(std::move(sum));
}

std::optional<int64_t> Polynomial::constant() const {
  if (is_lost()) return std::nullopt;
  const Terms& all = terms();
  if (all.empty()) return 0;
  if (all.size() == 1 && all.begin()->first.empty()) return all.begin()->second;
  return std::nullopt;
}

std::optional<AtomId> Polynomial::single_atom() const {
  if (terms().size() != 1) return std::nullopt;
  const auto& [monomial, coefficient] = *terms().begin();
  if (coefficient != 1 || monomial.size() != 1 || monomial[0].second != 1) return std::nullopt;
  return monomial[0].first;
}

std::vector<std::pair<Monomial, int64_t>> Polynomial::written_terms() const {
  std::vector<std::pair<Monomial, int64_t>> written(terms().begin(), terms().end());
  std::stable_sort(written.begin(), written.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return written;
}

std::vector<AtomId> Polynomial::atoms() const {
  if (const auto id = single_atom()) return {*id};
  std::vector<AtomId> found;
  for (const auto& [monomial, coefficient] : terms()) {
    for (const auto& [atom, power] : monomial) found.push_back(atom);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  if (!a.sum_ && !b.is_lost()) return b;
  if (!b.sum_) return a;
  Polynomial::Sum sum;
  if (a.sum_) sum = *a.sum_;
  if (!sum.is_lost()) sum.loss = b.loss();
  sum.add(b.terms());
  return Polynomial(std::move(sum));
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  if (!b.sum_) return a;
  Polynomial::Sum sum;
  if (a.sum_) sum = *a.sum_;
  if (!sum.is_lost()) sum.loss = b.loss();
  for (const auto& [monomial, coefficient] : b.terms()) {
    if (!sum.is_lost() && coefficient == INT64_MIN) sum.loss = Polynomial::Loss::Overflow;
    if (sum.is_lost()) break;
    sum.add(monomial, -coefficient);
  }
  return Polynomial(std::move(sum));
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (a.is_one() && !b.is_lost()) return b;
  if (b.is_one() && !a.is_lost()) return a;
  Polynomial::Sum sum;
  sum.loss = a.is_lost() ? a.loss() : b.loss();
  for (const auto& [left, left_coefficient] : a.terms()) {
    for (const auto& [right, right_coefficient] : b.terms()) {
      int64_t coefficient = 0;
      if (sum.is_lost()) return Polynomial(std::move(sum));
      if (__builtin_mul_overflow(left_coefficient, right_coefficient, &coefficient)) {
        sum.loss = Polynomial::Loss::Overflow;
      } else {
        sum.add(product(left, right), coefficient);
      }
    }
  }
  return Polynomial(std::move(sum));
}

AtomId AtomTable::variable(const std::string& name, uint32_t key, bool is_hparam, bool is_data, bool is_binder) {
  Atom atom;
  atom.name = name;
  atom.key = key;
  atom.is_hparam = is_hparam;
  atom.is_data = is_data;
  atom.is_binder = is_binder;
  return *intern(std::move(atom)).single_atom();
}

Polynomial AtomTable::unknown() {
  Atom atom;
  atom.kind = Atom::Kind::Unknown;
  atom.key = ++unknowns_;
  return intern(std::move(atom));
}

Polynomial AtomTable::intern(Atom atom) {
  for (const Polynomial* side : {&atom.left, &atom.right}) {
    if (side->is_lost()) return *side;
  }
  for (const Polynomial& element : atom.elements) {
    if (element.is_lost()) return element;
  }
  const size_t hash = hash_of(atom);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const Atom& known = atoms_[at->second];
    if (known.kind == atom.kind && known.name == atom.name && known.key == atom.key && known.left == atom.left &&
        known.right == atom.right && known.elements == atom.elements) {
      return Polynomial::atom(at->second);
    }
  }
  atoms_.push_back(std::move(atom));
  by_hash_.emplace(hash, AtomId(atoms_.size() - 1));
  return Polynomial::atom(AtomId(atoms_.size() - 1));
}

std::optional<Polynomial> AtomTable::divide(const Polynomial& a, const Polynomial& b) {
  if (b.terms().empty()) return std::nullopt;
  if (a == b) return Polynomial(1);
  if (b.terms().size() != 1) return std::nullopt;
  const auto& [divisor, divisor_coefficient] = *b.terms().begin();
  Polynomial::Terms terms;
  for (const auto& [monomial, coefficient] : a.terms()) {
    const std::optional<Monomial> rest = quotient(monomial, divisor);
    const std::optional<int64_t> quotient_of_numbers = host::exact_div(coefficient, divisor_coefficient);
    if (!rest || !quotient_of_numbers) return std::nullopt;
    terms[*rest] = *quotient_of_numbers;
  }
  return Polynomial::of(std::move(terms));
}

// `(D / heads) * heads` is D: a term that holds both a quotient and its divisor loses both.
Polynomial AtomTable::cancel(const Polynomial& value) {
  for (const auto& [monomial, coefficient] : value.terms()) {
    for (const auto& [id, power] : monomial) {
      const Atom& atom = atoms_[id];
      if (atom.kind != Atom::Kind::Exact) continue;
      const std::optional<Monomial> without = quotient(monomial, {{id, 1}});
      const Polynomial rest = Polynomial::of({{*without, coefficient}});
      const std::optional<Polynomial> divided = divide(rest, atom.right);
      if (!divided) continue;
      const Polynomial others = value - Polynomial::of({{monomial, coefficient}});
      return cancel(others + *divided * atom.left);
    }
  }
  return value;
}

Polynomial AtomTable::multiply(const Polynomial& a, const Polynomial& b) { return cancel(a * b); }

Polynomial AtomTable::exact(const Polynomial& a, const Polynomial& b) {
  if (const auto divided = divide(a, b)) return *divided;
  // `D * B * S / (2 * D * B)` is `S / 2`.
  if (b.terms().size() == 1) {
    for (const auto& [id, power] : b.terms().begin()->first) {
      const Polynomial factor = Polynomial::atom(id);
      const auto left = divide(a, factor), right = divide(b, factor);
      if (left && right) return exact(*left, *right);
    }
  }
  return intern({.kind = Atom::Kind::Exact, .left = a, .right = b});
}

Polynomial AtomTable::floor(const Polynomial& a, const Polynomial& b) {
  if (const auto known = of_constants(host::floor_div, a, b)) return *known;
  if (const auto divided = divide(a, b)) return *divided;
  const auto number = b.constant();
  if (!number || *number <= 0 || a.is_lost()) return intern({.kind = Atom::Kind::Floor, .left = a, .right = b});
  // Whole numbers stand outside: `floor((T - 2) / 2)` is `floor(T / 2) - 1`. What is left of the constant is not positive, as it
  // is where windows are counted: `floor((H - 1) / 2) + 1`.
  Polynomial inside, outside;
  for (const auto& [monomial, coefficient] : a.terms()) {
    const int64_t whole = monomial.empty() ? *host::ceil_div(coefficient, *number) : coefficient / *number;
    const Polynomial term = Polynomial::of({{monomial, 1}});
    outside = outside + term * whole;
    inside = inside + term * (coefficient - whole * *number);
  }
  if (const auto rest = inside.constant()) return outside + *host::floor_div(*rest, *number);
  // `floor((4 y + 3) / 8)` is `floor(y / 2)`.
  int64_t common = *number;
  for (const auto& [monomial, coefficient] : inside.terms()) {
    if (!monomial.empty()) common = std::gcd(common, coefficient);
  }
  if (common == 1) return outside + floor_of_floor(inside, *number);
  Polynomial reduced;
  for (const auto& [monomial, coefficient] : inside.terms())
    reduced = reduced + Polynomial::of({{monomial, *host::floor_div(coefficient, common)}});
  return outside + floor(reduced, *number / common);
}

// `floor((floor(x / m) + c) / n)` is `floor((x + c m) / (m n))`.
Polynomial AtomTable::floor_of_floor(const Polynomial& a, int64_t number) {
  const Polynomial plain = intern({.kind = Atom::Kind::Floor, .left = a, .right = number});
  for (const auto& [monomial, coefficient] : a.terms()) {
    const bool is_atom = coefficient == 1 && monomial.size() == 1 && monomial.begin()->second == 1;
    const Atom inner = is_atom ? atoms_[monomial.begin()->first] : Atom{};
    const auto first = inner.right.constant();
    const Polynomial rest = a - Polynomial::of({{monomial, coefficient}});
    if (inner.kind != Atom::Kind::Floor || !first || *first <= 0 || !rest.constant()) continue;
    const Polynomial divisor = Polynomial(*first) * number, dividend = inner.left + rest * *first;
    return divisor.is_lost() || dividend.is_lost() ? plain : floor(dividend, divisor);
  }
  return plain;
}

Polynomial AtomTable::ceil(const Polynomial& a, const Polynomial& b) {
  if (const auto known = of_constants(host::ceil_div, a, b)) return *known;
  if (const auto divided = divide(a, b)) return *divided;
  return intern({.kind = Atom::Kind::Ceil, .left = a, .right = b});
}

Polynomial AtomTable::remainder(const Polynomial& a, const Polynomial& b) {
  if (const auto known = of_constants(host::mod, a, b)) return *known;
  if (divide(a, b)) return 0;
  return intern({.kind = Atom::Kind::Remainder, .left = a, .right = b});
}

Polynomial AtomTable::minimum(const Polynomial& a, const Polynomial& b) {
  if (a.constant() && b.constant()) return std::min(*a.constant(), *b.constant());
  if (const auto difference = (a - b).constant()) return *difference <= 0 ? a : b;
  return intern({.kind = Atom::Kind::Min, .left = std::min(a, b), .right = std::max(a, b)});
}

Polynomial AtomTable::maximum(const Polynomial& a, const Polynomial& b) {
  if (a.constant() && b.constant()) return std::max(*a.constant(), *b.constant());
  if (const auto difference = (a - b).constant()) return *difference >= 0 ? a : b;
  return intern({.kind = Atom::Kind::Max, .left = std::min(a, b), .right = std::max(a, b)});
}

Polynomial AtomTable::power(const Polynomial& base, int64_t exponent) {
  Polynomial result = 1;
  for (int64_t i = 0; i < exponent && !result.is_lost(); ++i) result = multiply(result, base);
  return result;
}

Polynomial AtomTable::raise(const Polynomial& base, const Polynomial& exponent) {
  constexpr int64_t kMost = 16;
  if (const auto known = exponent.constant()) return *known >= 0 && *known <= kMost ? power(base, *known) : unknown();
  Atom atom;
  atom.kind = Atom::Kind::Unknown;
  atom.left = base;
  atom.right = exponent;
  return intern(std::move(atom));
}

Polynomial AtomTable::list(std::vector<Polynomial> elements) {
  Atom atom;
  atom.kind = Atom::Kind::List;
  atom.elements = std::move(elements);
  return intern(std::move(atom));
}

Polynomial AtomTable::element(const Polynomial& list, const Polynomial& index) {
  const auto id = list.single_atom();
  const auto place = index.constant();
  if (id && place && atoms_[*id].kind == Atom::Kind::List) {
    const std::vector<Polynomial>& elements = atoms_[*id].elements;
    const int64_t length = int64_t(elements.size());
    if (*place >= -length && *place < length) return elements[size_t(*place < 0 ? *place + length : *place)];
  }
  return intern({.kind = Atom::Kind::Element, .left = list, .right = index});
}

bool AtomTable::is_name(AtomId id) const {
  const Atom& atom = atoms_[id];
  return atom.kind == Atom::Kind::Variable || (atom.kind == Atom::Kind::Unknown && !atom.is_power());
}

Polynomial AtomTable::substitute(const Polynomial& value, const Substitution& replacements) {
  if (value.is_lost() || value.constant()) return value;
  // What most sizes are, without a polynomial in between.
  if (const auto id = value.single_atom()) {
    const auto found = replacements.find(*id);
    if (found == replacements.end() && is_name(*id)) return value;
    if (found != replacements.end() && !found->second.is_lost()) return cancel(found->second);
  }
  Polynomial result;
  for (const auto& [monomial, coefficient] : value.terms()) {
    Polynomial term = coefficient;
    for (const auto& [id, power] : monomial) {
      Polynomial factor = Polynomial::atom(id);
      if (const auto found = replacements.find(id); found != replacements.end()) {
        factor = found->second;
      } else if (!is_name(id)) {
        const Atom atom = atoms_[id];  // A copy: interning may move the table.
        const Polynomial left = substitute(atom.left, replacements);
        const Polynomial right = substitute(atom.right, replacements);
        switch (atom.kind) {
          case Atom::Kind::Variable: break;
          case Atom::Kind::Unknown: factor = raise(left, right); break;
          case Atom::Kind::Exact: factor = exact(left, right); break;
          case Atom::Kind::Floor: factor = floor(left, right); break;
          case Atom::Kind::Ceil: factor = ceil(left, right); break;
          case Atom::Kind::Remainder: factor = remainder(left, right); break;
          case Atom::Kind::Min: factor = minimum(left, right); break;
          case Atom::Kind::Max: factor = maximum(left, right); break;
          case Atom::Kind::Element: factor = element(left, right); break;
          case Atom::Kind::List: {
            std::vector<Polynomial> elements;
            for (const Polynomial& one : atom.elements) elements.push_back(substitute(one, replacements));
            factor = list(std::move(elements));
            break;
          }
        }
      }
      term = multiply(term, this->power(factor, power));
    }
    result = result + term;
  }
  return cancel(result);
}

std::vector<AtomId> AtomTable::deep_atoms(const Polynomial& value) const {
  std::vector<AtomId> to_visit = value.atoms();
  if (std::ranges::all_of(to_visit, [&](AtomId id) { return is_name(id); })) return to_visit;
  std::set<AtomId> found;
  while (!to_visit.empty()) {
    const AtomId id = to_visit.back();
    to_visit.pop_back();
    if (!found.insert(id).second) continue;
    const auto visit = [&](const Polynomial& part) {
      for (const AtomId inner : part.atoms()) to_visit.push_back(inner);
    };
    visit(atoms_[id].left);
    visit(atoms_[id].right);
    for (const Polynomial& element : atoms_[id].elements) visit(element);
  }
  return {found.begin(), found.end()};
}

bool AtomTable::mentions_unknown(const Polynomial& value) const {
  for (const AtomId id : deep_atoms(value)) {
    if (atoms_[id].kind == Atom::Kind::Unknown) return true;
  }
  return false;
}

std::string AtomTable::to_text(const Polynomial& value) const {
  if (value.terms().empty()) return "0";
  const auto atom_text = [&](AtomId id) -> std::string {
    const Atom& atom = atoms_[id];
    const std::string left = to_text(atom.left), right = to_text(atom.right);
    const std::string wrapped_left = atom.left.terms().size() > 1 ? "(" + left + ")" : left;
    const bool is_one = atom.right.constant() || atom.right.single_atom();
    const std::string wrapped_right = is_one ? right : "(" + right + ")";
    switch (atom.kind) {
      case Atom::Kind::Variable: return atom.name;
      case Atom::Kind::Unknown: return "?";
      case Atom::Kind::Exact: return "(" + wrapped_left + " / " + wrapped_right + ")";
      case Atom::Kind::Floor: return "floor(" + wrapped_left + " / " + wrapped_right + ")";
      case Atom::Kind::Ceil: return "ceil(" + wrapped_left + " / " + wrapped_right + ")";
      case Atom::Kind::Remainder: return "(" + wrapped_left + " % " + wrapped_right + ")";
      case Atom::Kind::Min: return "min(" + left + ", " + right + ")";
      case Atom::Kind::Max: return "max(" + left + ", " + right + ")";
      case Atom::Kind::Element: return left == "?" ? "?" : left + "[" + right + "]";
      case Atom::Kind::List: {
        std::string elements;
        for (const Polynomial& element : atom.elements) elements += (elements.empty() ? "" : ", ") + to_text(element);
        return "[" + elements + "]";
      }
    }
    return "";
  };
  std::string text;
  for (const auto& [monomial, coefficient] : value.written_terms()) {
    std::string term;
    if (monomial.empty() || (coefficient != 1 && coefficient != -1)) {
      term = std::to_string(coefficient < 0 ? 0 - uint64_t(coefficient) : uint64_t(coefficient));
    }
    for (const auto& [id, power] : monomial) {
      if (!term.empty()) term += " * ";
      term += atom_text(id);
      if (power > 1) term += "**" + std::to_string(power);
    }
    if (text.empty()) {
      text = (coefficient < 0 ? "-" : "") + term;
    } else {
      text += (coefficient < 0 ? " - " : " + ") + term;
    }
  }
  return text;
}

}  // namespace ltr::check
