#pragma once

// How long the calls of a plan take, for `--profile`.

#include <chrono>
#include <vector>

#include "runtime/api/error.h"

namespace ltr::plan {

/// What one call of a plan is, and what all threads spent on it so far.
struct CallCost {
  Location location;
  Str what;
  double seconds = 0;   ///< of all threads together
  double products = 0;  ///< multiply-adds of a run, 0 where they are no more than a few for each element
  double bytes = 0;     ///< of what it reads and writes in a run
};

/// One run of one call, where a trace is kept.
struct CallSpan {
  int thread = 0;
  size_t call = 0;
  std::chrono::steady_clock::time_point begin;
  double seconds = 0;
};

/// Seconds of each thread, by call: nobody waits for another to write them down.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

  /// Keeps each call by itself while `traces`, which changes between runs alone.
  Stopwatch(int threads, size_t calls, const bool& traces)
      : traces_(traces), seconds_(size_t(threads), std::vector<double>(calls)), spans_(size_t(threads)) {}

  void add(int thread, size_t call, Clock::time_point begin) {
    const double seconds = since(begin);
    seconds_[size_t(thread)][call] += seconds;
    if (traces_) spans_[size_t(thread)].push_back({thread, call, begin, seconds});
  }
  double of_all(size_t call) const {
    double sum = 0;
    for (const std::vector<double>& thread : seconds_) sum += thread[call];
    return sum;
  }
  template <class Each>
  void each_span(const Each& each) const {
    for (const std::vector<CallSpan>& thread : spans_) {
      for (const CallSpan& span : thread) each(span);
    }
  }

 private:
  const bool& traces_;
  std::vector<std::vector<double>> seconds_;
  std::vector<std::vector<CallSpan>> spans_;
};

}  // namespace ltr::plan
