#pragma once

// Work of our own on LibTorch's threads.

#include <c10/util/FunctionRef.h>

#include <atomic>
#include <cstdint>

namespace ltr {

/// Runs `part(from, to)` for parts of [begin, end), at least `grain` long, with as many threads as ops compute with
/// here, alone where that is one part or inside another parallel region. Exceptions of a part are thrown here.
void parallel_for(int64_t begin, int64_t end, int64_t grain, c10::function_ref<void(int64_t, int64_t)> part);

/// Where the threads of a team wait for one another, for less than a microsecond where all run.
class Meeting {
 public:
  explicit Meeting(int threads) : threads_(threads) {}
  void wait();

 private:
  const int threads_;
  alignas(64) std::atomic<int> waiting_{0};
  alignas(64) std::atomic<int> round_{0};
};

/// Training comes before this thread: of a core that both want it gets a thirtieth, of one that is idle all. It is not the last of
/// the machine: a program that was started with a priority keeps it before others.
void yield_to_training();

/// Runs `work(index, threads, meeting)` on `threads` threads at once, alone inside another parallel region. It throws nothing.
void run_team(int threads, c10::function_ref<void(int, int, Meeting&)> work);

}  // namespace ltr
