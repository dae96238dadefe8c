#include "runtime/tensor/parallel.h"

#include <ATen/Parallel.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace ltr {

// ATen's template is parallel only where OpenMP is compiled, which this file alone is.
void parallel_for(int64_t begin, int64_t end, int64_t grain, c10::function_ref<void(int64_t, int64_t)> part) {
  at::parallel_for(begin, end, grain, part);
}

void yield_to_training() {
  constexpr int kLess = 15;
  const auto thread = id_t(gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kLess);
  // It is woken by who trains, and does not take that thread's core for it: there is another, or a moment later.
  const sched_param none{};
  sched_setscheduler(thread, SCHED_BATCH, &none);
}

void Meeting::wait() {
  if (threads_ == 1) return;
  const int round = round_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  // Who waits for long waits for a thread that has no core: it sleeps, and that gets this one's.
  constexpr int kSpins = 1 << 14;
  for (int spin = 0; round_.load(std::memory_order_acquire) == round; ++spin) {
    if (spin > kSpins) {
      round_.wait(round, std::memory_order_acquire);
      continue;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

void run_team(int threads, c10::function_ref<void(int, int, Meeting&)> work) {
#if defined(_OPENMP)
  if (threads > 1 && omp_in_parallel() == 0) {
    Meeting meeting(threads);
    // A team that is smaller than was asked for would wait for ever.
    std::atomic<bool> is_whole = true;
#pragma omp parallel num_threads(threads)
    {
      if (omp_get_num_threads() == threads)
        work(omp_get_thread_num(), threads, meeting);
      else
        is_whole = false;
    }
    if (is_whole) return;
  }
#endif
  Meeting alone(1);
  work(0, 1, alone);
}

}  // namespace ltr
