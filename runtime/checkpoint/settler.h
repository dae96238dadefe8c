#pragma once

// Brings checkpoints to the disk while training goes on. A checkpoint is whole for everybody as soon as it has its name;
// what the disk has not got yet only a failing machine would lose. So the wait for the disk is nobody's, but what a
// checkpoint replaces goes only when it is safe there.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "ltr/api.h"

namespace ltr {

class Settler {
 public:
  /// `folder` holds the checkpoints.
  explicit Settler(Str folder) : folder_(std::move(folder)) {}
  ~Settler();
  Settler(const Settler&) = delete;
  Settler& operator=(const Settler&) = delete;

  /// The checkpoint `name` is written. Its turn comes behind those that were given before.
  void settle(const Str& name);
  /// Removes these once the newest that was given before, or a later one, is on the disk. Where that was still to come,
  /// nobody waits for it any more.
  void remove(const std::vector<Str>& names);
  /// Until nothing is left to do.
  void wait();
  /// What went wrong since the last call, in words.
  std::vector<Str> take_faults();

 private:
  struct Task {
    Str name;
    int64_t number;  ///< of checkpoints given so far, this one included
  };
  void work();
  /// The task whose turn it is; `lock` is let go of meanwhile.
  void do_next(std::unique_lock<std::mutex>& lock);
  bool has_work() const { return !to_settle_.empty() || can_remove(); }
  bool can_remove() const { return !to_remove_.empty() && to_remove_.front().number <= settled_; }
  void sync(const Task& task);

  Str folder_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Task> to_settle_;
  std::deque<Task> to_remove_;
  std::vector<Str> faults_;
  int64_t given_ = 0;
  int64_t settled_ = 0;  ///< the newest that is on the disk
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace ltr
