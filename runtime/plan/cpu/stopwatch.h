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

/// Seconds of each thread, by call: nobody waits for another to write them down.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

  Stopwatch(int threads, size_t calls) : seconds_(size_t(threads), std::vector<double>(calls)) {}

  void add(int thread, size_t call, Clock::time_point begin) { seconds_[size_t(thread)][call] += since(begin); }
  double of_all(size_t call) const {
    double sum = 0;
    for (const std::vector<double>& thread : seconds_) sum += thread[call];
    return sum;
  }

 private:
  std::vector<std::vector<double>> seconds_;
};

}  // namespace ltr::plan
