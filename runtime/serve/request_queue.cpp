#include "runtime/serve/request_queue.h"

namespace ltr::serve {

bool RequestQueue::put(Waiting& waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || queue_.size() >= rules_.most) return false;
    queue_.push_back(std::move(waiting));
  }
  changed_.notify_one();
  return true;
}

size_t RequestQueue::rows_ready() const {
  size_t rows = 0;
  for (const Waiting& one : queue_) {
    rows += one.rows.records.size();
    if (rows >= rules_.batch_rows) break;
  }
  return rows;
}

std::vector<Waiting> RequestQueue::take(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, patience, [&] { return is_closed_ || !queue_.empty(); }) || queue_.empty()) return {};
  const auto end = queue_.front().since + std::chrono::duration_cast<Clock::duration>(rules_.wait);
  changed_.wait_until(lock, end, [&] { return is_closed_ || rows_ready() >= rules_.batch_rows; });
  std::vector<Waiting> taken;
  size_t rows = 0;
  while (!queue_.empty()) {
    const ReadRows& next = queue_.front().rows;
    const bool fits =
        rows + next.records.size() <= rules_.batch_rows && (taken.empty() || next.has == taken[0].rows.has);
    if (!taken.empty() && !fits) break;
    rows += next.records.size();
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return taken;
}

void RequestQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

size_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace ltr::serve
