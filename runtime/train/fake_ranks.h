#pragma once

// Two ranks of the tests: two threads that meet as processes would. One that waits in vain says so instead of hanging.

#include <any>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/api/error.h"
#include "runtime/train/ranks.h"

namespace ltr::fake {

class Meeting {
 public:
  /// What each of the two gives, by rank.
  std::array<std::any, 2> exchange(int64_t rank, std::any own) {
    std::unique_lock lock(mutex_);
    const int64_t turn = turn_;
    given_[size_t(rank)] = std::move(own);
    if (++count_ == 2) {
      last_ = given_;
      count_ = 0;
      turn_++;
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return turn_ != turn || is_over_; }) || turn_ == turn) {
      throw error_at({}, err::settings_contradict, "a rank waits for the other one");
    }
    return last_;
  }
  /// One of the two comes no more.
  void leave() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::any, 2> given_, last_;
  int64_t count_ = 0;
  int64_t turn_ = 0;
  bool is_over_ = false;
};

class OneOfPair final : public Ranks {
 public:
  OneOfPair(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}
  int64_t rank() const override { return rank_; }
  int64_t world() const override { return 2; }
  std::vector<Str> texts(const Str& own) const override {
    const std::array<std::any, 2> both = meeting_.exchange(rank_, own);
    return {std::any_cast<Str>(both[0]), std::any_cast<Str>(both[1])};
  }

 private:
  Meeting& meeting_;
  int64_t rank_;
};

/// Runs `body` as either rank. Throws what the first of them threw.
inline void as_two(const std::function<void(const Ranks& ranks)>& body) {
  Meeting meeting;
  std::array<std::exception_ptr, 2> thrown;
  const auto run = [&](int64_t rank) {
    try {
      body(OneOfPair(meeting, rank));
    } catch (...) {
      thrown[size_t(rank)] = std::current_exception();
    }
    meeting.leave();
  };
  std::thread second(run, 1);
  run(0);
  second.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace ltr::fake
