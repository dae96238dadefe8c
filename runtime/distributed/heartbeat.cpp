#include "runtime/distributed/heartbeat.h"

#include <chrono>

#include <fmt/format.h>

#include "runtime/api/error.h"

namespace ltr::distributed {

namespace {

constexpr std::chrono::seconds kBeat{1};
constexpr double kTurn_s = 1;
constexpr int64_t kFarewell = int64_t(1) << 40;  // more than any run beats

Str key_of(int64_t rank) { return fmt::format("beat/{}", rank); }

}  // namespace

EverySecond::EverySecond(const Place& place, std::function<void(c10d::Store&, bool)> body)
    : place_(place), body_(std::move(body)), thread_([this] { run(); }) {}

EverySecond::~EverySecond() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool EverySecond::is_over() {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

Store EverySecond::opened() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(int64_t(1000 * place_.join_s));
  while (true) {
    try {
      return open_store(place_, kTurn_s);
    } catch (const Error&) {
      if (is_over() || Clock::now() > until) throw;
    }
  }
}

void EverySecond::run() {
  try {
    const Store store = opened();
    for (bool is_last = false; !is_last;) {
      body_(*store, false);
      std::unique_lock lock(mutex_);
      is_last = changed_.wait_for(lock, kBeat, [&] { return is_over_; });
    }
    body_(*store, true);
  } catch (const std::exception&) {
    // Whoever needs the meeting point says so: a rank in its next collective, a supervisor by its looks.
  }
}

Heartbeat::Heartbeat(const Place& place)
    : thread_(place, [key = key_of(place.rank)](c10d::Store& store, bool is_last) {
        store.add(key, is_last ? kFarewell : 1);
      }) {}

Pulses::Pulses(const Place& place, int64_t first, int64_t count)
    : first_(first), beats_(size_t(count)), thread_(place, [this](c10d::Store& store, bool) {
        for (size_t i = 0; i < beats_.size(); i++) beats_[i] = store.add(key_of(first_ + int64_t(i)), 0);
        ++looks_;
      }) {}

int64_t Pulses::beats(int64_t rank) const {
  const int64_t beats = beats_[size_t(rank - first_)];
  return beats >= kFarewell ? kGone : beats;
}

}  // namespace ltr::distributed
