#pragma once

// A rank's sign of life: a number at the meeting point that grows about once a second.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/distributed/store.h"

namespace ltr::distributed {

/// A thread that comes to the meeting point about once a second, until that does not answer or this ends.
class EverySecond {
 public:
  /// `is_last`: this ends, and it is called no more.
  EverySecond(const Place& place, std::function<void(c10d::Store& store, bool is_last)> body);
  ~EverySecond();
  EverySecond(const EverySecond&) = delete;
  EverySecond& operator=(const EverySecond&) = delete;

 private:
  void run();
  /// Looks for the meeting point in short turns, so that an end is not waited for.
  Store opened();
  bool is_over();
  Place place_;
  std::function<void(c10d::Store&, bool)> body_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// What a rank does for its supervisor. One that ends in order says so.
class Heartbeat {
 public:
  explicit Heartbeat(const Place& place);

 private:
  EverySecond thread_;
};

/// What a supervisor sees of ranks, as of about a second ago.
class Pulses {
 public:
  /// Watches `count` ranks from `first` on.
  Pulses(const Place& place, int64_t first, int64_t count);

  /// How often a rank has beaten; 0: never yet, kGone: it ended in order.
  int64_t beats(int64_t rank) const;
  static constexpr int64_t kGone = -1;
  /// How often all of them were looked at: it stands still when the meeting point does.
  int64_t looks() const { return looks_; }

 private:
  int64_t first_;
  std::vector<std::atomic<int64_t>> beats_;
  std::atomic<int64_t> looks_{0};
  EverySecond thread_;  // last: it writes into what stands above
};

}  // namespace ltr::distributed
