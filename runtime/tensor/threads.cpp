#include "runtime/tensor/threads.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>

namespace ltr {

void share_cores() {
  static std::once_flag done;
  std::call_once(done, [] {
    // Who says how to wait gets what he says.
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
    // On a machine that is free, waiting threads that spin are a third faster (784-512-512-10, two threads: 2.6
    // against 3.7 ms a step); on one that is not, they take the cores from those that they wait for.
    double load = 0;
    const bool is_busy = getloadavg(&load, 1) == 1 && load > 0.5 * double(std::thread::hardware_concurrency());
    if (!is_busy) return;
    using Parallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
    const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
    if (parallel == nullptr) return;
    std::promise<void> made;
    std::thread([&] {
      parallel([](void*) {}, nullptr, std::thread::hardware_concurrency() + 1, 0);
      made.set_value();
      // Its team counts as long as this thread lives.
      while (true) pause();
    }).detach();
    made.get_future().wait();
  });
}

}  // namespace ltr
