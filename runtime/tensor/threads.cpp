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
