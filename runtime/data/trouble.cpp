#include "runtime/data/trouble.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace ltr {

namespace {

std::mutex troubles_mutex;
std::vector<Str> troubles;
std::atomic<bool> is_troubled = false;

}  // namespace

void note_trouble(Str text) {
  const std::lock_guard lock(troubles_mutex);
  troubles.push_back(std::move(text));
  is_troubled = true;
}

std::vector<Str> take_troubles() {
  if (!is_troubled.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(troubles_mutex);
  is_troubled = false;
  return std::exchange(troubles, {});
}

}  // namespace ltr
