#include "doors/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace ltr::doors {

namespace {

/// A container's group, as it sees it itself: one of the newer or the older kind.
struct MemoryGroup {
  const char* limit;
  const char* used;
  const char* facts;
  const char* files;  ///< in `facts`: what of `used` only keeps files that were read
};
constexpr MemoryGroup kGroups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};

/// The number that stands behind `name` in `file`, 0 if there is none.
int64_t number_behind(const std::string& name, const char* file) {
  std::ifstream words(file);
  for (std::string word; words >> word;) {
    int64_t number = 0;
    if (word == name && words >> number) return number;
  }
  return 0;
}

int64_t number_in(const char* file) {
  int64_t number = 0;
  return std::ifstream(file) >> number ? number : 0;
}

constexpr int64_t kKiB = 1024;  // the unit of /proc

}  // namespace

int64_t own_memory() {
  int64_t bytes = int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  // One without a limit says a word, or more than there is.
  for (const MemoryGroup& group : kGroups) {
    if (const int64_t limit = number_in(group.limit); limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

int64_t free_memory() {
  int64_t bytes = number_behind("MemAvailable:", "/proc/meminfo") * kKiB;
  if (bytes == 0) bytes = own_memory();
  for (const MemoryGroup& group : kGroups) {
    const int64_t limit = number_in(group.limit);
    if (limit > 0) bytes = std::min(bytes, limit - number_in(group.used) + number_behind(group.files, group.facts));
  }
  return std::max(bytes, int64_t(0));
}

void limit_memory(int64_t more) {
  // Of what is written to and private; files that are read in place do not count.
  const int64_t limit = number_behind("VmData:", "/proc/self/status") * kKiB + more;
  rlimit now{};
  if (::getrlimit(RLIMIT_DATA, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_cur, rlim_t(limit));
  ::setrlimit(RLIMIT_DATA, &now);
}

void lower_memory_limit(int64_t bytes) {
  rlimit now{};
  if (::getrlimit(RLIMIT_DATA, &now) != 0 || now.rlim_cur == RLIM_INFINITY) return;
  now.rlim_cur -= std::min(now.rlim_cur, rlim_t(bytes));
  ::setrlimit(RLIMIT_DATA, &now);
}

int64_t resident_memory() { return number_behind("VmRSS:", "/proc/self/status") * kKiB; }

int64_t peak_memory() { return number_behind("VmHWM:", "/proc/self/status") * kKiB; }

}  // namespace ltr::doors
