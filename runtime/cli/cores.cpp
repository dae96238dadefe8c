#include "runtime/cli/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace ltr::cli {

int64_t own_cores() {
  cpu_set_t bound;
  const bool is_known = ::sched_getaffinity(0, sizeof bound, &bound) == 0;
  return is_known ? CPU_COUNT(&bound) : std::max<int64_t>(std::thread::hardware_concurrency(), 1);
}

int64_t ranks_sharing(const distributed::Place& place) {
  const bool is_bound = place.launcher != "own" && own_cores() * place.local_size <= ::sysconf(_SC_NPROCESSORS_ONLN);
  return is_bound ? 1 : place.local_size;
}

}  // namespace ltr::cli
