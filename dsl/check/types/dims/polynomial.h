#pragma once

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ltr::check {

/// An indivisible part of a dim, interned in an `AtomTable`.
using AtomId = uint32_t;

/// Product of atoms with their powers, sorted by atom; empty is 1. Most are one atom.
using Monomial = boost::container::small_vector<std::pair<AtomId, int>, 2>;

/// An integer polynomial over atoms in normal form: no zero coefficients, monomials sorted. Equal
/// polynomials compare equal, which is how dims are compared. Copies share their terms, which nobody writes.
class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(int64_t constant);  // NOLINT(google-explicit-constructor): numbers are polynomials
  static Polynomial atom(AtomId id);
  /// Coefficients by monomial. Most polynomials have one, which lies in place.
  using Terms = boost::container::flat_map<Monomial, int64_t, std::less<Monomial>,
                                           boost::container::small_vector<std::pair<Monomial, int64_t>, 1>>;
  static Polynomial of(Terms terms);

  /// The value, if no atom occurs and it is one of 64 bits.
  std::optional<int64_t> constant() const;
  /// The atom, if this is one atom alone.
  std::optional<AtomId> single_atom() const;
  bool is_one() const { return constant() == 1; }
  const Terms& terms() const { return sum_ ? sum_->terms : kNone; }
  /// As people write them: the highest degree first, the constant last.
  std::vector<std::pair<Monomial, int64_t>> written_terms() const;
  std::vector<AtomId> atoms() const;
  /// What went wrong on the way here: the terms mean nothing then.
  enum class Loss : uint8_t {
    None,
    Overflow,      ///< a coefficient left 64 bits
    TooManyTerms,  ///< more than `kMostTerms`
  };
  static constexpr size_t kMostTerms = 1000;
  Loss loss() const { return sum_ ? sum_->loss : Loss::None; }
  bool is_lost() const { return loss() != Loss::None; }
  /// A number that does not fit.
  static Polynomial overflow();

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  /// Multiplies without looking into quotients; `AtomTable::multiply` also cancels them.
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  bool operator==(const Polynomial& other) const {
    return sum_ == other.sum_ || (loss() == other.loss() && terms() == other.terms());
  }
  bool operator<(const Polynomial& other) const { return terms() < other.terms(); }

 private:
  /// One that is being made, or that is shared. A compilation is in one thread.
  struct Sum : boost::intrusive_ref_counter<Sum, boost::thread_unsafe_counter> {
    Terms terms;
    Loss loss = Loss::None;

    bool is_lost() const { return loss != Loss::None; }
    void add(const Monomial& monomial, int64_t coefficient);
    void add(const Terms& others);
  };
  explicit Polynomial(Sum sum);
  static const Terms kNone;

  boost::intrusive_ptr<const Sum> sum_;  ///< null: 0
};

/// What an atom is. `Variable` is a name of the program, `Unknown` a `?` or a power whose exponent is no number yet, `List` a
/// list of ints that an `Element` is taken of, as it may be of a variable; the others are functions of polynomials.
struct Atom {
  enum class Kind { Variable, Unknown, Exact, Floor, Ceil, Remainder, Min, Max, List, Element };
  Kind kind = Kind::Variable;
  std::string name;                  ///< Variable: as shown, `B`, `width`, `data.chars.vocab`
  uint32_t key = 0;                  ///< Variable: which one of that name; Unknown: its number
  bool is_hparam = false;            ///< Variable: known at start
  bool is_data = false;              ///< Variable: known when the data is open
  bool is_binder = false;            ///< Variable: stands for any size, a binder of a function
  Polynomial left;                   ///< a of a / b and so on; Element: the list; Unknown: the base of a power
  Polynomial right;                  ///< Element: the index; Unknown: the exponent
  std::vector<Polynomial> elements;  ///< List

  /// A `?` that is a size as soon as its exponent is a number: `2 ** i` of the layer at `i`.
  bool is_power() const { return kind == Kind::Unknown && !right.terms().empty(); }
};

/// Owns the atoms of one compilation, and the arithmetic that must look into them.
class AtomTable {
 public:
  const Atom& at(AtomId id) const { return atoms_[id]; }

  AtomId variable(const std::string& name, uint32_t key, bool is_hparam = false, bool is_data = false,
                  bool is_binder = false);
  /// A new `?`, equal to itself alone.
  Polynomial unknown();

  Polynomial multiply(const Polynomial& a, const Polynomial& b);
  /// a / b where it is exact; a quotient atom where that is not known.
  Polynomial exact(const Polynomial& a, const Polynomial& b);
  Polynomial floor(const Polynomial& a, const Polynomial& b);
  Polynomial ceil(const Polynomial& a, const Polynomial& b);
  Polynomial remainder(const Polynomial& a, const Polynomial& b);
  Polynomial minimum(const Polynomial& a, const Polynomial& b);
  Polynomial maximum(const Polynomial& a, const Polynomial& b);
  Polynomial power(const Polynomial& base, int64_t exponent);
  /// The same of an exponent that may be no number; a `?` until it is one.
  Polynomial raise(const Polynomial& base, const Polynomial& exponent);
  /// A list of ints, which is no size itself.
  Polynomial list(std::vector<Polynomial> elements);
  /// One of a list, which is a `list` or a variable that stands for one; from the end where `index` is negative.
  Polynomial element(const Polynomial& list, const Polynomial& index);
  /// a / b if every term divides, else nothing.
  static std::optional<Polynomial> divide(const Polynomial& a, const Polynomial& b);

  using Substitution = std::map<AtomId, Polynomial>;
  Polynomial substitute(const Polynomial& value, const Substitution& replacements);
  bool mentions_unknown(const Polynomial& value) const;
  /// All atoms, those inside quotients too.
  std::vector<AtomId> deep_atoms(const Polynomial& value) const;
  std::string to_text(const Polynomial& value) const;

 private:
  Polynomial intern(Atom atom);
  Polynomial floor_of_floor(const Polynomial& a, int64_t number);
  Polynomial cancel(const Polynomial& value);
  /// Whether it is a name or a `?`, which holds no sizes.
  bool is_name(AtomId id) const;
  std::vector<Atom> atoms_ = {Atom{}};
  std::unordered_multimap<size_t, AtomId> by_hash_;
  uint32_t unknowns_ = 0;
};

}  // namespace ltr::check
