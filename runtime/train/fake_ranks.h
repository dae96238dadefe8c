#pragma once

// Ranks of the tests: threads that meet as processes would. One that waits in vain says so instead of hanging.

#include <any>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/api/error.h"
#include "runtime/train/ranks.h"

namespace ltr::fake {

class Meeting {
 public:
  explicit Meeting(int64_t count) : size_(count), given_(size_t(count)) {}
  int64_t size() const { return size_; }
  /// What each of them gives, by rank.
  std::vector<std::any> exchange(int64_t rank, std::any own) {
    std::unique_lock lock(mutex_);
    const int64_t turn = turn_;
    given_[size_t(rank)] = std::move(own);
    if (++count_ == size_) {
      last_ = given_;
      count_ = 0;
      turn_++;
      changed_.notify_all();
    } else if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return turn_ != turn || is_over_; }) ||
               turn_ == turn) {
      throw error_at({}, err::settings_contradict, "a rank waits for another one");
    }
    return last_;
  }
  /// One of them comes no more.
  void leave() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t size_;
  std::vector<std::any> given_, last_;
  int64_t count_ = 0;
  int64_t turn_ = 0;
  bool is_over_ = false;
};

class OneOfSome final : public Ranks {
 public:
  OneOfSome(Meeting& meeting, int64_t rank) : meeting_(meeting), rank_(rank) {}
  int64_t rank() const override { return rank_; }
  int64_t world() const override { return meeting_.size(); }
  std::vector<Str> texts(const Str& own) const override {
    exchanges_++;
    std::vector<Str> texts;
    for (const std::any& one : meeting_.exchange(rank_, own)) texts.push_back(std::any_cast<Str>(one));
    return texts;
  }

  int64_t exchanges() const { return exchanges_; }

 private:
  Meeting& meeting_;
  int64_t rank_;
  mutable int64_t exchanges_ = 0;
};

/// How often a rank of `as_ranks` exchanged something with the others.
inline int64_t exchanges_of(const Ranks& ranks) { return dynamic_cast<const OneOfSome&>(ranks).exchanges(); }

/// Runs `body` as each of `world` ranks. Throws what the first of them threw.
inline void as_ranks(int64_t world, const std::function<void(const Ranks& ranks)>& body) {
  Meeting meeting(world);
  std::vector<std::exception_ptr> thrown(static_cast<size_t>(world));
  const auto run = [&](int64_t rank) {
    try {
      body(OneOfSome(meeting, rank));
    } catch (...) {
      thrown[size_t(rank)] = std::current_exception();
    }
    meeting.leave();
  };
  std::vector<std::thread> others;
  for (int64_t rank = 1; rank < world; rank++) others.emplace_back(run, rank);
  run(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

inline void as_two(const std::function<void(const Ranks& ranks)>& body) { as_ranks(2, body); }

}  // namespace ltr::fake
