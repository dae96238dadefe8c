#pragma once

// A logger whose thread follows the journal, and tells a server. Whatever that does, training goes on; what it does not have at the
// end waits in the journal for `ltrc sync`.

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/api/crash_stack.h"
#include "runtime/loggers/make.h"

namespace ltr::loggers {

/// `Upload` sends what the journal of a run says to a server: `send_all`, `answers`, `waiting`, `take_refusals`, and is made of a run, what
/// is asked for by `settings`, the seconds of a request, and whether it is called off.
template <class Upload>
class Follower : public Logger {
 public:
  /// `soon`: records that do not wait for the next look into the journal.
  template <class... Settings>
  Follower(const char* name, const LoggerSetup& setup, Str address, int64_t soon, const Settings&... settings)
      : name_(name),
        run_dir_(setup.run_dir),
        address_(std::move(address)),
        warn_(setup.warn),
        soon_(soon),
        upload_(run_dir_, settings..., kLimit_s, is_called_off_) {
    // Signals are for the thread that trains.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Follower() override { leave(); }

  const char* name() const override { return name_; }
  void scalars(int64_t, int64_t, double, const NamedValues&) override { count(); }
  void system(int64_t, double, const NamedValues&) override { count(); }

  /// Everything is in the journal by now.
  void close() override {
    std::unique_lock lock(mutex_);
    const int64_t before = upload_.answers();
    is_finishing_ = true;
    changed_.notify_all();
    const auto begin = std::chrono::steady_clock::now();
    const auto wait = [&](double seconds) {
      const auto until = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
      changed_.wait_until(lock, until, [this] { return is_done_; });
    };
    wait(kSilentAtEnd_s);
    if (upload_.answers() > before) wait(kAtEnd_s);
    const bool is_done = is_done_;
    lock.unlock();
    leave();
    if (problem_.empty() && is_done) return;
    warn_(fmt::format("{}: {} of this run are not sent to {}: {}; `ltrc sync {}` sends them", name_, waiting_text(),
                      address_, problem_.empty() ? "it is too slow" : problem_, run_dir_));
  }

 private:
  using Seconds = std::chrono::duration<double>;
  static constexpr double kLimit_s = 30;         // of a request
  static constexpr double kEvery_s = 5;          // between looks into the journal
  static constexpr double kLongestPause_s = 60;  // after failures in a row
  static constexpr double kSilentAtEnd_s = 2;    // for a server that does not answer
  static constexpr double kAtEnd_s = 30;         // for one that does
  static constexpr int kTriesAtEnd = 3;          // of one that answers, and refuses

  void leave() {
    if (!thread_.joinable()) return;
    is_called_off_ = true;
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void count() {
    const std::lock_guard lock(mutex_);
    if (++records_ == soon_) changed_.notify_all();
  }

  Str waiting_text() const {
    try {
      return fmt::format("{} values", upload_.waiting());
    } catch (const std::exception&) {
      return "values";
    }
  }

  void run() {
    const CrashStack stack;
    int failures = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      const bool is_last = is_finishing_;
      records_ = 0;
      lock.unlock();
      const int64_t before = upload_.answers();
      const Str problem = send();
      const bool has_answered = upload_.answers() > before;
      lock.lock();
      failures = problem.empty() ? 0 : failures + 1;
      if (!is_called_off_) tell(problem);
      if (is_ending_ || (is_last && (problem.empty() || !has_answered || failures >= kTriesAtEnd))) break;
      // Of a server in trouble less is asked, until the run ends.
      if (problem.empty()) {
        changed_.wait_for(lock, Seconds(kEvery_s), [this] { return is_finishing_ || is_ending_ || records_ >= soon_; });
      } else if (is_last) {
        changed_.wait_for(lock, Seconds(0.3), [this] { return is_ending_; });
      } else {
        const double pause_s = std::min(kLongestPause_s, double(int64_t(1) << std::min(failures - 1, 6)));
        changed_.wait_for(lock, Seconds(pause_s), [this] { return is_finishing_ || is_ending_; });
        if (is_finishing_) failures = 0;
      }
      if (is_ending_) break;
    }
    is_done_ = true;
    changed_.notify_all();
  }

  /// What went wrong; "" if all is sent.
  Str send() {
    try {
      upload_.send_all();
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  /// That it fails is said once, and once that it works again; the end says the rest.
  void tell(const Str& problem) {
    for (const Str& refusal : upload_.take_refusals())
      warn_(fmt::format("{}: {} does not take {}", name_, address_, refusal));
    if (!problem.empty() && !is_finishing_ && !std::exchange(is_told_, true))
      warn_(fmt::format("{}: {} is not told of this run: {}; its records wait in log.jsonl", name_, address_, problem));
    if (problem.empty() && is_told_ && !std::exchange(is_told_better_, true))
      warn_(fmt::format("{}: {} works again, and has what waited", name_, address_));
    problem_ = problem;
  }

  const char* name_;
  Str run_dir_;
  Str address_;
  Warn warn_;
  int64_t soon_;
  std::atomic<bool> is_called_off_ = false;
  Upload upload_;  ///< of the thread, until that is gone
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t records_ = 0;  ///< since the thread looked into the journal
  bool is_finishing_ = false;
  bool is_ending_ = false;
  bool is_done_ = false;
  bool is_told_ = false;
  bool is_told_better_ = false;
  Str problem_;
  std::thread thread_;
};

}  // namespace ltr::loggers
