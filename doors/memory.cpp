#include "doors/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace ltr::doors {

int64_t own_memory() {
  int64_t bytes = int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  // A container sees its own group here, of the newer or the older kind; one without a limit says a word, or more than there is.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace ltr::doors
