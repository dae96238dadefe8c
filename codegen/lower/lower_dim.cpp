// Sizes as the IR has them: in the order in which people write them, with names where `check` has atoms.

#include "codegen/lower/shared.h"

namespace ltr::lower {

using check::Atom;
using ir::Dim;
using ir::DimId;

namespace {

class DimLowerer {
 public:
  DimLowerer(const check::AtomTable& atoms, ir::DimStore& dims) : atoms_(atoms), dims_(dims) {}

  DimId size(const check::Polynomial& size) {
    if (const std::optional<int64_t> known = size.constant()) return dims_.number(*known);
    if (const std::optional<check::AtomId> alone = size.single_atom()) return atom(atoms_.at(*alone));
    std::optional<DimId> sum;
    for (const auto& [monomial, coefficient] : size.written_terms()) {
      const bool is_negative = coefficient < 0;
      const DimId one = term(monomial, is_negative ? -coefficient : coefficient);
      if (!sum) {
        sum = is_negative ? dims_.negative(one) : one;
      } else {
        sum = dims_.binary(is_negative ? Dim::Kind::Difference : Dim::Kind::Sum, *sum, one);
      }
    }
    return *sum;
  }

 private:
  DimId term(const check::Monomial& monomial, int64_t factor) {
    std::optional<DimId> product;
    if (monomial.empty() || factor != 1) product = dims_.number(factor);
    for (const auto& [id, power] : monomial) {
      const DimId base = atom(atoms_.at(id));
      const DimId one = power > 1 ? dims_.power(base, power) : base;
      product = product ? dims_.binary(Dim::Kind::Product, *product, one) : one;
    }
    return *product;
  }

  DimId atom(const Atom& atom) {
    const auto pair = [&](Dim::Kind kind) { return dims_.binary(kind, size(atom.left), size(atom.right)); };
    switch (atom.kind) {
      case Atom::Kind::Variable: return dims_.name(atom.name);
      case Atom::Kind::Unknown:
      case Atom::Kind::List: break;  // No name leads to it.
      case Atom::Kind::Exact: return pair(Dim::Kind::Exact);
      case Atom::Kind::Floor: return pair(Dim::Kind::Floor);
      case Atom::Kind::Ceil: return pair(Dim::Kind::Ceil);
      case Atom::Kind::Remainder: return pair(Dim::Kind::Remainder);
      case Atom::Kind::Min: return pair(Dim::Kind::Min);
      case Atom::Kind::Max: return pair(Dim::Kind::Max);
      case Atom::Kind::Element: return pair(Dim::Kind::Element);
    }
    return DimId{};
  }

  const check::AtomTable& atoms_;
  ir::DimStore& dims_;
};

}  // namespace

DimId Shared::dim(const check::Polynomial& size) const { return DimLowerer(program.atoms, module.dims).size(size); }

}  // namespace ltr::lower
