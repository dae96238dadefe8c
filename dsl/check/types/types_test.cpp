#include "dsl/check/types/types.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "dsl/host/math.h"

namespace ltr::check {

namespace {

/// A program without anything, where types can be compared.
struct World {
  source::SourceManager sources;
  diagnostics::Sink sink;
  resolve::ModuleGraph graph;
  std::vector<Local> locals;
  Context cx{.sources = sources, .sink = &sink, .graph = with_module()};
  Scope scope{.cx = cx, .module = 0, .locals = locals};
  uint32_t next = 1;

  const resolve::ModuleGraph& with_module() {
    graph.modules.emplace_back();
    return graph;
  }
  /// A size that is chosen before the run.
  Polynomial hparam(const std::string& name) { return Polynomial::atom(cx.program.atoms.variable(name, next++, true)); }
  Polynomial binder(const std::string& name) {
    return Polynomial::atom(cx.program.atoms.variable(name, next++, false, false, true));
  }
};

std::vector<Dim> dims_of(const std::vector<Polynomial>& sizes) {
  std::vector<Dim> dims;
  for (const Polynomial& size : sizes) dims.push_back({.size = size});
  return dims;
}

Type tensor(const std::vector<Polynomial>& sizes) { return Type::tensor(Element::Float, dims_of(sizes)); }

/// `a * x + b * y + c`
struct Linear {
  int64_t a = 0, b = 0, c = 0;

  int64_t at(int64_t x, int64_t y) const { return a * x + b * y + c; }
  Polynomial of(const Polynomial& x, const Polynomial& y) const { return Polynomial(a) * x + Polynomial(b) * y + c; }
};

bool holds(Requirement::Kind kind, int64_t left, int64_t right) {
  switch (kind) {
    case Requirement::Kind::Equal: return left == right;
    case Requirement::Kind::Divisible: return host::mod(left, right) == 0;
    case Requirement::Kind::AtMost: return left <= right;
    case Requirement::Kind::Less: return left < right;
    case Requirement::Kind::Holds: break;
  }
  return false;
}

/// PyTorch's rule for sizes that are known; nothing where they do not fit.
std::optional<std::vector<int64_t>> broadcast_of(std::vector<int64_t> a, std::vector<int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  std::vector<int64_t> result;
  for (size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return std::nullopt;
    result.push_back(a[i] == 1 ? b[i] : a[i]);
  }
  return result;
}

std::vector<std::vector<int64_t>> small_shapes() {
  std::vector<std::vector<int64_t>> shapes = {{}};
  for (size_t from = 0, rank = 0; rank < 3; ++rank) {
    const size_t to = shapes.size();
    for (; from < to; ++from) {
      for (int64_t size = 1; size <= 3; ++size) {
        shapes.push_back(shapes[from]);
        shapes.back().push_back(size);
      }
    }
  }
  return shapes;
}

}  // namespace

TEST_CASE("requirements: what is proven holds for all sizes, what is false for none, and the rest waits") {
  World world;
  std::mt19937 random(4);
  const Polynomial x = world.hparam("x"), y = world.hparam("y");
  std::map<Truth, int> seen;
  for (int round = 0; round < 20'000; ++round) {
    const auto draw = [&] { return int64_t(random() % 5) - 1; };
    const Linear left{draw(), draw(), draw()};
    Linear right{draw(), draw(), draw()};
    constexpr Requirement::Kind kKinds[] = {Requirement::Kind::Equal, Requirement::Kind::Divisible,
                                            Requirement::Kind::AtMost, Requirement::Kind::Less};
    Requirement requirement;
    requirement.kind = kKinds[random() % 4];
    // A divisor is a size, which is 1 or more.
    if (requirement.kind == Requirement::Kind::Divisible)
      right = {std::abs(right.a), std::abs(right.b), std::abs(right.c) + 1};
    requirement.left = left.of(x, y);
    requirement.right = right.of(x, y);
    int right_ones = 0, all = 0;
    for (int64_t at_x = 1; at_x <= 5; ++at_x) {
      for (int64_t at_y = 1; at_y <= 5; ++at_y) {
        right_ones += holds(requirement.kind, left.at(at_x, at_y), right.at(at_x, at_y)) ? 1 : 0;
        ++all;
      }
    }
    const Truth truth = decide(requirement, world.cx);
    ++seen[truth];
    INFO(world.cx.text(requirement.left), " and ", world.cx.text(requirement.right), ", kind ", int(requirement.kind));
    if (truth == Truth::Proven) REQUIRE(right_ones == all);
    if (truth == Truth::False) REQUIRE(right_ones == 0);
  }
  CHECK(seen[Truth::Proven] > 100);
  CHECK(seen[Truth::False] > 100);
  CHECK(seen[Truth::Open] > 100);
}

TEST_CASE("requirements: sizes of two names may be equal, a multiple of one never is it") {
  World world;
  const Polynomial d = world.hparam("D"), h = world.hparam("heads"), b = world.binder("B");
  const auto truth = [&](Requirement::Kind kind, const Polynomial& left, const Polynomial& right) {
    Requirement requirement;
    requirement.kind = kind;
    requirement.left = left;
    requirement.right = right;
    return decide(requirement, world.cx);
  };
  using Kind = Requirement::Kind;
  CHECK(truth(Kind::Equal, d, d) == Truth::Proven);
  CHECK(truth(Kind::Equal, d, h) == Truth::Open);
  CHECK(truth(Kind::Equal, d, d * 4) == Truth::False);
  CHECK(truth(Kind::Equal, d, d + 1) == Truth::False);
  CHECK(truth(Kind::Equal, b, b * 4) == Truth::Open);  // A binder may be 0: an empty batch.
  CHECK(truth(Kind::Divisible, d * h, h) == Truth::Proven);
  CHECK(truth(Kind::Divisible, d, h) == Truth::Open);
  CHECK(truth(Kind::Divisible, 12, 5) == Truth::False);
  world.cx.facts.add({.kind = Kind::Divisible, .left = d, .right = h});
  CHECK(truth(Kind::Divisible, d, h) == Truth::Proven);
  CHECK(truth(Kind::Divisible, d * 3, h) == Truth::Proven);
  CHECK(truth(Kind::Divisible, d + 1, h) == Truth::Open);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  CHECK_FALSE(truth(Kind::AtMost, kMax, -2) == Truth::Proven);
  CHECK_FALSE(truth(Kind::Less, -2, kMax) == Truth::False);
}

TEST_CASE("sizes: what is no multiple of anything tells nothing") {
  World world;
  const Polynomial h = world.binder("H");
  world.cx.facts.add({.kind = Requirement::Kind::Divisible, .left = h, .right = 0});
  CHECK_FALSE(are_same_size(h, h * 2, world.cx));
  CHECK_FALSE(are_same_size(Polynomial(std::numeric_limits<int64_t>::max()) + h + 1, h * 2, world.cx));
}

TEST_CASE("sizes: those of multiples are the same where they are so for all of them") {
  World world;
  AtomTable& atoms = world.cx.program.atoms;
  const Polynomial h = world.binder("H");
  world.cx.facts.add({.kind = Requirement::Kind::Divisible, .left = h - 1, .right = 4});
  world.cx.facts.add({.kind = Requirement::Kind::Divisible, .left = h - 1, .right = 6});
  std::mt19937 random(7);
  std::map<bool, int> seen;
  // `outer (inner (h + shift) / by) / again`, rounded down or up.
  struct Side {
    int64_t shift, by, again, times;
    bool rounds_up;
    int64_t at(int64_t h) const {
      const auto divide = [&](int64_t a, int64_t b) {
        return rounds_up ? *host::ceil_div(a, b) : *host::floor_div(a, b);
      };
      return times * divide(divide(h + shift, by), again);
    }
    Polynomial of(AtomTable& atoms, const Polynomial& h) const {
      const auto divide = [&](const Polynomial& a, int64_t b) {
        return rounds_up ? atoms.ceil(a, b) : atoms.floor(a, b);
      };
      return divide(divide(h + shift, by), again) * times;
    }
  };
  for (int round = 0; round < 20'000; ++round) {
    const auto draw = [&]() -> Side {
      return {int64_t(random() % 4) - 2, int64_t(random() % 4) + 1, int64_t(random() % 3) + 1,
              int64_t(random() % 2) + 1, random() % 2 == 0};
    };
    const Side left = draw(), right = draw();
    if (!are_same_size(left.of(atoms, h), right.of(atoms, h), world.cx)) continue;
    ++seen[left.of(atoms, h) == right.of(atoms, h)];
    INFO(world.cx.text(left.of(atoms, h)), " and ", world.cx.text(right.of(atoms, h)));
    for (int64_t at = 1; at <= 121; at += 12) REQUIRE(left.at(at) == right.at(at));
  }
  CHECK(seen[false] > 100);
  CHECK(seen[true] > 100);
}

TEST_CASE("broadcast: known sizes go as in PyTorch") {
  World world;
  const std::vector<std::vector<int64_t>> shapes = small_shapes();
  const auto sizes = [](const std::vector<int64_t>& shape) { return dims_of({shape.begin(), shape.end()}); };
  for (const auto& left : shapes) {
    for (const auto& right : shapes) {
      const Broadcast made = broadcast(sizes(left), sizes(right), world.cx);
      const auto wanted = broadcast_of(left, right);
      REQUIRE_FALSE(made.is_symbolic_clash);
      REQUIRE(made.equal.empty());
      REQUIRE(made.dims.has_value() == wanted.has_value());
      if (wanted) REQUIRE(*made.dims == sizes(*wanted));
    }
  }
}

TEST_CASE("broadcast: names are stretched by 1 alone, and what they must equal is said") {
  World world;
  const Polynomial a = world.hparam("A"), b = world.hparam("B");
  const auto of = [&](const std::vector<Polynomial>& left, const std::vector<Polynomial>& right) {
    return broadcast(dims_of(left), dims_of(right), world.cx);
  };
  CHECK(*of({a, b}, {1, b}).dims == dims_of({a, b}));
  CHECK(*of({a, 1}, {a, b}).dims == dims_of({a, b}));
  CHECK(*of({a, b}, {b}).dims == dims_of({a, b}));
  CHECK(of({a, b}, {b}).equal.empty());
  const Broadcast two = of({a}, {b});
  REQUIRE(two.equal.size() == 1);
  CHECK(two.equal[0] == std::pair(a, b));
  // `[B, 1]` and `[B]` would silently be `[B, B]`.
  CHECK(of({b, 1}, {b}).is_symbolic_clash);
}

TEST_CASE("match: a binder takes the size that it meets, and keeps it") {
  World world;
  const Polynomial n = world.binder("N"), m = world.binder("M"), d = world.hparam("D");
  const std::set<AtomId> free = {*n.single_atom(), *m.single_atom()};
  const auto fits = [&](const Type& param, const Type& argument, Binding& binding) {
    return match(param, argument, binding, free, {}, world.scope, "it", false);
  };
  Binding binding;
  REQUIRE(fits(tensor({n, m}), tensor({3, d}), binding));
  CHECK(binding.dims.at(*n.single_atom()) == Polynomial(3));
  CHECK(binding.dims.at(*m.single_atom()) == d);
  CHECK(substitute(tensor({n, m * n}), binding, world.cx) == tensor({3, d * 3}));
  CHECK_FALSE(world.sink.has_errors());
  Binding twice;
  CHECK(fits(tensor({n, n}), tensor({d, d}), twice));
  Binding unequal;
  CHECK_FALSE(fits(tensor({n, n}), tensor({3, 4}), unequal));
  CHECK(world.sink.error_count() == 1);
  Binding rank;
  CHECK_FALSE(fits(tensor({n}), tensor({3, 4}), rank));
  CHECK(world.sink.error_count() == 2);
}

}  // namespace ltr::check
