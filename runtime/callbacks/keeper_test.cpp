#include "runtime/callbacks/keeper.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace ltr {

namespace {

struct Saved {
  Str name;
  double value;
};

/// What is to be there: the best `keep`, numbers before what is none, of equal ones the older; and the newest.
std::vector<Str> wanted(std::vector<Saved> all, size_t keep, bool is_max) {
  const Str newest = all.back().name;
  std::ranges::stable_sort(all, [&](const Saved& a, const Saved& b) {
    if (std::isnan(a.value) || std::isnan(b.value)) return !std::isnan(a.value) && std::isnan(b.value);
    return is_max ? a.value > b.value : a.value < b.value;
  });
  std::vector<Str> names;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < keep || all[i].name == newest) names.push_back(all[i].name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("what is kept are the best ones, of equal ones the older, what is no number last") {
  std::mt19937 draw(7);
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  for (int run = 0; run < 300; ++run) {
    const size_t keep = std::vector<size_t>{1, 3, kAll}[draw() % 3];
    const bool is_max = draw() % 2 == 0;
    std::vector<Argument> arguments = {{"monitor", Value(Str("val.loss"))}};
    arguments.push_back({"keep", keep == kAll ? Value::symbol("all") : Value(int64_t(keep))});
    CheckpointKeeper keeper(Value::call("Checkpoint", std::move(arguments), {}), is_max);
    std::vector<Saved> all;
    for (int64_t step = 1; step <= 15; ++step) {
      // Few values, so that many are equal.
      const double value = draw() % 4 == 0 ? std::nan("") : double(draw() % 4);
      keeper.note_fresh(value);
      REQUIRE(keeper.is_due(step, step, 0, true));
      all.push_back({"step" + std::to_string(step), value});
      keeper.saved(all.back().name, step);
      std::vector<Str> kept;
      for (const Saved& one : all) {
        if (keeper.keeps(one.name)) kept.push_back(one.name);
      }
      std::ranges::sort(kept);
      CHECK(kept == wanted(all, keep, is_max));
      const Saved* best = nullptr;
      for (const Saved& one : all) {
        const bool is_better = best == nullptr || (is_max ? one.value > best->value : one.value < best->value);
        if (!std::isnan(one.value) && is_better) best = &one;
      }
      REQUIRE((keeper.best() != nullptr) == (best != nullptr));
      if (best != nullptr) CHECK(keeper.best()->name == best->name);
    }
  }
}

TEST_CASE("what would not come among the best, and nobody asked for, may be left out") {
  const auto keeper = [](std::vector<Argument> arguments) {
    return CheckpointKeeper(Value::call("Checkpoint", std::move(arguments), {}), true);
  };
  const auto may = [](CheckpointKeeper& keeper, int64_t step, double value) {
    keeper.note_fresh(value);
    REQUIRE(keeper.is_due(step, step, 0, true));
    const bool may = keeper.may_leave_out();
    may ? keeper.left_out() : keeper.saved("step" + std::to_string(step), step);
    CHECK_FALSE(keeper.is_nan());  // its value is used up
    return may;
  };
  const Argument monitor{"monitor", Value(Str("val.acc"))};
  CheckpointKeeper two = keeper({monitor, {"keep", Value(int64_t(2))}});
  CHECK_FALSE(may(two, 1, std::nan("")));
  CHECK_FALSE(may(two, 2, 0.5));
  CHECK_FALSE(may(two, 3, 0.4));
  CHECK(may(two, 4, 0.4));  // of equal ones the older
  CHECK(may(two, 5, std::nan("")));
  CHECK_FALSE(may(two, 6, 0.45));
  CHECK((two.keeps("step2") && two.keeps("step6") && !two.keeps("step3")));

  CheckpointKeeper each = keeper({monitor, {"every", Value::epochs(1)}}),
                   behind = keeper({monitor, {"async", Value(true)}});
  for (CheckpointKeeper* one : {&each, &behind}) {
    CHECK_FALSE(may(*one, 1, 0.5));
    CHECK_FALSE(may(*one, 2, 0.4));
  }
  CheckpointKeeper newest = keeper({}), all = keeper({{"keep", Value::symbol("all")}});
  CHECK(may(newest, 1, 0));
  CHECK_FALSE(may(all, 1, 0));
}

TEST_CASE("a checkpoint that stays keeps its name: another one of the name has a number behind it") {
  const Value call =
      Value::call("Checkpoint", {{"monitor", Value(Str("val.acc"))}, {"filename", Value(Str("model"))}}, {});
  CheckpointKeeper keeper(call, true), other(call, true);
  const auto save = [&](int64_t step, double value) {
    keeper.note_fresh(value);
    REQUIRE(keeper.is_due(step, step, 0, true));
    const Str name = keeper.own_name(keeper.name(step, step, [](const Str&) { return 0.0; }), step, {&keeper, &other});
    keeper.saved(name, step);
    return name;
  };
  CHECK(save(1, 0.5) == "model");
  CHECK(save(2, 0.6) == "model");  // the one before goes
  CHECK(save(3, 0.4) == "model-v1");
  CHECK(save(4, 0.3) == "model-v1");
  CHECK(keeper.best()->name == "model");
  CHECK(save(5, 0.9) == "model");
  CHECK(keeper.best()->step == 5);
  CHECK(keeper.own_name("model", 5, {}) == "model");  // the same step again
  other.note_fresh(1);
  other.saved("model", 3);
  CHECK(save(6, 0.1) == "model-v1");
}

TEST_CASE("parts of epochs are counted in updates") {
  const auto due = [](double epochs) {
    CheckpointKeeper keeper(Value::call("Checkpoint", {{"every", Value::epochs(epochs)}}, {}), false,
                            [](double many) { return int64_t(7 * many); });
    std::vector<int64_t> steps;
    for (int64_t step = 1; step <= 21; ++step) {
      if (keeper.is_due(step, step / 7, 0, step % 7 == 0)) steps.push_back(step);
    }
    return steps;
  };
  CHECK((due(0.5) == std::vector<int64_t>{3, 7, 10, 14, 17, 21}));
  CHECK((due(1.5) == std::vector<int64_t>{10, 21}));
  CHECK(due(0.01).size() == 21);
  CHECK((due(2) == std::vector<int64_t>{14}));
}

TEST_CASE("a period of time is training time, from one save to the next, on to a resumed run") {
  const Value call = Value::call("Checkpoint", {{"every", Value::seconds(10)}}, {});
  CheckpointKeeper keeper(call, false);
  CHECK_FALSE(keeper.is_due(3, 0, 9.5, false));
  CHECK(keeper.is_due(4, 0, 12, false));
  keeper.saved("step4", 4);
  CHECK_FALSE(keeper.is_due(5, 0, 21, false));

  CheckpointData saved;
  SaveArchive save(saved);
  keeper.visit(save);
  CheckpointKeeper again(call, false);
  LoadArchive load(saved);
  again.visit(load);
  CHECK_FALSE(again.is_due(6, 0, 21.5, false));
  CHECK(again.is_due(7, 0, 22, false));
}

TEST_CASE("parts of epochs end with their last update, however their product is rounded") {
  auto parts = EpochParts::of(Value::epochs(0.7), [](double epochs) { return 10 * epochs; });
  REQUIRE(parts);
  std::vector<int64_t> ends;
  for (int64_t update = 1; update <= 35; ++update) {
    if (parts->end_with(update)) ends.push_back(update);
  }
  CHECK(ends == std::vector<int64_t>{7, 14, 21, 28, 35});
  CHECK_FALSE(EpochParts::of(Value::epochs(2), [](double epochs) { return epochs; }));
}

}  // namespace ltr
