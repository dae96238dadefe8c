#include "dsl/check/types/dims/polynomial.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "dsl/host/math.h"

namespace ltr::check {

namespace {

using Values = std::map<AtomId, int64_t>;
using Number = std::optional<int64_t>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Number op_of(Atom::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Atom::Kind::Exact: return host::exact_div(a, b);
    case Atom::Kind::Floor: return host::floor_div(a, b);
    case Atom::Kind::Ceil: return host::ceil_div(a, b);
    case Atom::Kind::Remainder: return host::mod(a, b);
    case Atom::Kind::Min: return std::min(a, b);
    case Atom::Kind::Max: return std::max(a, b);
    case Atom::Kind::Variable:
    case Atom::Kind::Unknown: break;
  }
  return std::nullopt;
}

/// What a polynomial is worth; nothing where a quotient in it is not whole, or has no divisor.
Number worth(const Polynomial& value, const AtomTable& table, const Values& values) {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : value.terms()) {
    int64_t term = coefficient;
    for (const auto& [id, power] : monomial) {
      const Atom& atom = table.at(id);
      Number factor;
      if (atom.kind == Atom::Kind::Variable) {
        factor = values.at(id);
      } else {
        const Number left = worth(atom.left, table, values), right = worth(atom.right, table, values);
        if (left && right) factor = op_of(atom.kind, *left, *right);
      }
      if (!factor) return std::nullopt;
      for (int i = 0; i < power; ++i) term *= *factor;
    }
    sum += term;
  }
  return sum;
}

/// A random expression, as a polynomial and as what it is worth when it is computed as written.
class Expression {
 public:
  Expression(AtomTable& table, std::mt19937& random, const std::vector<AtomId>& variables, int depth) {
    const auto draw = [&](int64_t from, int64_t to) {
      return std::uniform_int_distribution<int64_t>(from, to)(random);
    };
    what_ = depth == 0 ? draw(0, 1) : draw(0, 10);
    if (what_ == 0) {
      constant_ = draw(-3, 6);
      polynomial = constant_;
    } else if (what_ == 1) {
      variable_ = variables[size_t(draw(0, int64_t(variables.size()) - 1))];
      polynomial = Polynomial::atom(variable_);
    } else {
      parts_.emplace_back(table, random, variables, depth - 1);
      parts_.emplace_back(table, random, variables, depth - 1);
      const Polynomial &a = parts_[0].polynomial, &b = parts_[1].polynomial;
      switch (what_) {
        case 2: polynomial = a + b; break;
        case 3: polynomial = a - b; break;
        case 4: polynomial = table.multiply(a, b); break;
        case 5: polynomial = table.exact(a, b); break;
        case 6: polynomial = table.floor(a, b); break;
        case 7: polynomial = table.ceil(a, b); break;
        case 8: polynomial = table.remainder(a, b); break;
        case 9: polynomial = table.minimum(a, b); break;
        default: polynomial = table.maximum(a, b); break;
      }
    }
  }

  Polynomial polynomial;

  Number computed(const Values& values) const {
    if (what_ == 0) return constant_;
    if (what_ == 1) return values.at(variable_);
    const Number a = parts_[0].computed(values), b = parts_[1].computed(values);
    if (!a || !b) return std::nullopt;
    if (what_ == 2) return *a + *b;
    if (what_ == 3) return *a - *b;
    if (what_ == 4) return *a * *b;
    constexpr Atom::Kind kKinds[] = {Atom::Kind::Exact,     Atom::Kind::Floor, Atom::Kind::Ceil,
                                     Atom::Kind::Remainder, Atom::Kind::Min,   Atom::Kind::Max};
    return op_of(kKinds[what_ - 5], *a, *b);
  }

 private:
  int64_t what_ = 0;
  int64_t constant_ = 0;
  AtomId variable_ = 0;
  std::vector<Expression> parts_;
};

/// Each way to give the variables sizes from 1 to `most`.
std::vector<Values> sizes_of(const std::vector<AtomId>& variables, int64_t most) {
  std::vector<Values> all = {{}};
  for (const AtomId id : variables) {
    std::vector<Values> longer;
    for (const Values& known : all) {
      for (int64_t size = 1; size <= most; ++size) {
        longer.push_back(known);
        longer.back()[id] = size;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

TEST_CASE("dims: an expression is worth what it is worth as written, for all small sizes") {
  AtomTable table;
  std::mt19937 random(1);
  const std::vector<AtomId> variables = {table.variable("B", 1), table.variable("D", 2)};
  const std::vector<Values> sizes = sizes_of(variables, 5);
  size_t compared = 0;
  for (int round = 0; round < 400; ++round) {
    const Expression expression(table, random, variables, 3);
    for (const Values& values : sizes) {
      const Number computed = expression.computed(values);
      if (!computed) continue;
      INFO(table.to_text(expression.polynomial));
      REQUIRE(worth(expression.polynomial, table, values) == computed);
      ++compared;
    }
  }
  CHECK(compared > 5'000);
}

TEST_CASE("dims: polynomials are equal just where they are the same function") {
  AtomTable table;
  std::mt19937 random(2);
  const AtomId x = table.variable("x", 1), y = table.variable("y", 2);
  const std::vector<Values> sizes = sizes_of({x, y}, 4);
  const auto draw = [&] {
    Polynomial sum;
    for (int i = 0; i < 3; ++i) {
      Polynomial term = int64_t(random() % 5) - 2;
      if (random() % 2 == 0) term = term * Polynomial::atom(x);
      if (random() % 2 == 0) term = term * Polynomial::atom(y);
      sum = sum + term;
    }
    return sum;
  };
  size_t equal = 0;
  for (int round = 0; round < 2'000; ++round) {
    const Polynomial a = draw(), b = draw(), c = draw();
    const bool is_same = std::all_of(sizes.begin(), sizes.end(), [&](const Values& values) {
      return worth(a, table, values) == worth(b, table, values);
    });
    REQUIRE((a == b) == is_same);
    equal += is_same ? 1 : 0;
    REQUIRE(a + b == b + a);
    REQUIRE(a * b == b * a);
    REQUIRE((a + b) * c == a * c + b * c);
    REQUIRE(a - a == Polynomial(0));
  }
  CHECK(equal > 20);
}

TEST_CASE("dims: what is put in place of a variable is its value") {
  AtomTable table;
  std::mt19937 random(3);
  const std::vector<AtomId> variables = {table.variable("B", 1), table.variable("D", 2)};
  for (int round = 0; round < 300; ++round) {
    const Expression whole(table, random, variables, 2), part(table, random, variables, 1);
    const Polynomial replaced = table.substitute(whole.polynomial, {{variables[0], part.polynomial}});
    for (Values values : sizes_of(variables, 4)) {
      const Number inner = part.computed(values);
      if (!inner) continue;
      Values outer = values;
      outer[variables[0]] = *inner;
      const Number computed = whole.computed(outer);
      if (!computed) continue;
      INFO(table.to_text(whole.polynomial), " with ", table.to_text(part.polynomial));
      REQUIRE(worth(replaced, table, values) == computed);
    }
  }
}

TEST_CASE("dims: quotients and remainders of constants go as at run time") {
  AtomTable table;
  for (int64_t a = -7; a <= 7; ++a) {
    for (int64_t b = -3; b <= 3; ++b) {
      const auto is = [&](const Polynomial& made, const Number& wanted) {
        INFO(a, " and ", b);
        CHECK(made.constant() == wanted);
      };
      is(table.floor(a, b), host::floor_div(a, b));
      is(table.ceil(a, b), host::ceil_div(a, b));
      is(table.remainder(a, b), host::mod(a, b));
      is(table.exact(a, b), host::exact_div(a, b));
    }
  }
  CHECK(table.remainder(-7, 3).constant() == 2);
  CHECK(table.remainder(7, -2).constant() == 1);
}

TEST_CASE("dims: a quotient goes away beside its divisor") {
  AtomTable table;
  const Polynomial d = Polynomial::atom(table.variable("D", 1)), h = Polynomial::atom(table.variable("heads", 2));
  const Polynomial quotient = table.exact(d, h);
  CHECK(table.multiply(quotient, h) == d);
  CHECK(table.multiply(table.multiply(h, 3), quotient) == d * 3);
  CHECK(table.exact(d * h, h) == d);
  CHECK(table.exact(d * 6, 3) == d * 2);
  CHECK(table.floor(d * 6, 4) == table.floor(d * 6, 4));
  CHECK_FALSE(table.floor(d * 6, 4) == table.exact(d * 6, 4));
  CHECK(table.power(d, 0) == Polynomial(1));
  CHECK(table.power(d, 3) == d * d * d);
  const AtomId i = table.variable("i", 3);
  const Polynomial raised = table.raise(2, Polynomial::atom(i) + 1);
  CHECK(table.mentions_unknown(raised));
  CHECK(raised == table.raise(2, Polynomial::atom(i) + 1));
  CHECK(table.substitute(d * raised, {{i, 2}}) == d * 8);
  CHECK(table.mentions_unknown(table.substitute(raised, {{i, -2}})));
  CHECK(table.to_text(table.multiply(quotient, 2) + 1) == "2 * (D / heads) + 1");
}

TEST_CASE("dims: whole numbers stand outside of floors, and a floor of a floor is one") {
  AtomTable table;
  const Polynomial t = Polynomial::atom(table.variable("T", 1));
  const auto floor = [&](const Polynomial& a, int64_t b) { return table.floor(a, b); };
  CHECK(floor(t - 2, 2) + 1 == floor(t, 2));
  CHECK(floor(t - 1, 2) + 1 == floor(t + 1, 2));
  CHECK(floor(t * 5 + 7, 2) == floor(t + 1, 2) + t * 2 + 3);
  CHECK(floor(t * 4 + 3, 2) == t * 2 + 1);
  CHECK(floor(floor(t - 2, 2) - 1, 2) + 1 == floor(t, 4));
  CHECK(floor(floor(t, 2) + 1, 3) == floor(t + 2, 6));
  CHECK(floor(t * 4 + 3, 8) == floor(t, 2));
  CHECK(floor(t * 4 - 3, 8) == floor(t - 1, 2));
  CHECK_FALSE(floor(t, 2) == floor(t + 1, 2));
  CHECK(table.to_text(floor(t - 1, 2) + 1) == "floor((T - 1) / 2) + 1");
  CHECK(floor(t, kMax) == floor(t, kMax));
  CHECK_FALSE(floor(floor(t, kMax), 2).is_lost());
  CHECK_FALSE(floor(t + (kMin + 2), 3).is_lost());
}

TEST_CASE("dims: each ? is itself alone") {
  AtomTable table;
  const Polynomial a = table.unknown(), b = table.unknown();
  CHECK(a == a);
  CHECK_FALSE(a == b);
  CHECK(table.mentions_unknown(table.floor(a + 1, 2)));
  CHECK_FALSE(table.mentions_unknown(Polynomial::atom(table.variable("B", 1))));
}

TEST_CASE("dims: a copy stays as it is while what it is of is computed with") {
  AtomTable table;
  Polynomial x = Polynomial::atom(table.variable("x", 1));
  const Polynomial copy = x;
  x = x * 2 + 1;
  CHECK(copy == Polynomial::atom(table.variable("x", 1)));
  CHECK(copy + copy + 1 == x);
  CHECK((x - x).constant() == 0);
  CHECK(x * 1 == x);
  CHECK(x + 0 == x);
}

TEST_CASE("dims: what leaves 64 bits says so, wherever it goes on") {
  AtomTable table;
  const Polynomial x = Polynomial::atom(table.variable("x", 1));
  const Polynomial most = kMax, least = kMin;
  CHECK((most + 1).is_lost());
  CHECK((least - 1).is_lost());
  CHECK((most * 2).is_lost());
  CHECK((x * most + x).is_lost());
  CHECK((x * most * 2 + 1).is_lost());
  CHECK(table.multiply(x * most, x * 2).is_lost());
  CHECK(table.substitute(x * most, {{*x.single_atom(), Polynomial(2)}}).is_lost());
  CHECK_FALSE((most + least).is_lost());
  // What is lost stays so where nothing is added or taken, and all that is lost so is alike.
  const Polynomial lost = x * most + x;
  for (const Polynomial& other : {lost + 0, 0 + lost, lost - 0, 0 - lost, lost * 1, 1 * lost, lost * 0})
    CHECK(other.is_lost());
  CHECK(0 + lost == Polynomial::overflow());
  CHECK(1 * lost == Polynomial::overflow());
  // What they differ by is no number of 64 bits, but which is less is plain.
  CHECK(table.minimum(most, -1) == Polynomial(-1));
  CHECK(table.maximum(most, -1) == most);
}

}  // namespace ltr::check
