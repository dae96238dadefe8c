#include "runtime/callbacks/listener.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "runtime/api/error.h"

namespace ltr {

namespace {

/// Puts something in place for a round; the way back needs other ranks, which may be gone.
class Guest : public Listener {
 public:
  Guest(int& in_place, bool is_alone) : in_place_(in_place), is_alone_(is_alone) {}
  uint32_t interests() const override { return kEvaluating; }
  void evaluating(bool begins) override {
    in_place_ += begins ? 1 : -1;
    if (is_alone_ && !begins) throw std::runtime_error("nobody answers");
  }

 private:
  int& in_place_;
  bool is_alone_;
};

Listeners with_guest(int& in_place, bool is_alone) {
  Listeners listeners;
  listeners.add(Turn{}, "guest", std::make_unique<Guest>(in_place, is_alone));
  listeners.finish();
  return listeners;
}

}  // namespace

TEST_CASE("what a round puts in place goes when it is over, or breaks") {
  int in_place = 0;
  const Listeners listeners = with_guest(in_place, false);
  while_evaluating(listeners, [&] { CHECK(in_place == 1); });
  CHECK(in_place == 0);
  CHECK_THROWS_WITH(while_evaluating(listeners, [] { throw std::runtime_error("a rank is lost"); }), "a rank is lost");
  CHECK(in_place == 0);
}

TEST_CASE("a round that breaks is told by what broke it, though the way back fails, too") {
  int in_place = 0;
  const Listeners listeners = with_guest(in_place, true);
  CHECK_THROWS_WITH(while_evaluating(listeners, [] { throw std::runtime_error("a rank is lost"); }), "a rank is lost");
  CHECK_THROWS_WITH(while_evaluating(listeners, [] {}), "nobody answers");
}

}  // namespace ltr
