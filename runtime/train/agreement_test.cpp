#include "runtime/train/agreement.h"

#include <doctest/doctest.h>

#include <array>
#include <csignal>

#include "runtime/train/fake_ranks.h"
#include "runtime/train/signals.h"

namespace ltr::fake {

namespace {

/// What one rank needs to agree.
struct Member {
  explicit Member(const Ranks& ranks) : agreement(ranks, {outcome, ends_epoch, saves}) {}
  Outcome outcome;
  bool ends_epoch = false;
  std::vector<Str> saves;
  Agreement agreement;
};

}  // namespace

TEST_CASE("ranks that compute a round together meet about once a second, and leave it behind the same batch") {
  constexpr int64_t kBatches = 1000, kHit = 100;
  Option<SignalWatch> signals(std::in_place);
  std::array<int64_t, 3> left{};
  as_ranks(3, [&](const Ranks& ranks) {
    Member member(ranks);
    member.agreement.begin_round(true);
    for (int64_t batch = 0; batch < kBatches; batch++) CHECK_FALSE(member.agreement.calls_off());
    // 1, 2, 4, …: each meeting is twice as far from the one before, where a batch takes no time.
    CHECK(exchanges_of(ranks) < kBatches / 10);

    member.agreement.begin_round(true);
    int64_t& batch = left[size_t(ranks.rank())];
    for (bool is_off = false; !is_off && batch < kBatches; batch++) {
      if (ranks.rank() == 1 && batch == kHit) std::raise(SIGUSR1);
      is_off = member.agreement.calls_off();
    }
    CHECK(member.agreement.is_called_off());
  });
  signals.reset();
  signals.emplace();  // forgets it
  CHECK(left[0] < kBatches);
  CHECK(left[0] == left[1]);
  CHECK(left[0] == left[2]);
}

}  // namespace ltr::fake
