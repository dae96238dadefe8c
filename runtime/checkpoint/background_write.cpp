#include "runtime/checkpoint/background_write.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace ltr {

namespace {

/// Training comes first: of a core that both want the thread gets a thirtieth, of one that is idle all. It is not the last of
/// the machine: a program that was started with a priority keeps it before others.
void yield_to_training() {
  constexpr int kLess = 15;
  const auto thread = id_t(gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kLess);
}

}  // namespace

BackgroundWrite::~BackgroundWrite() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundWrite::start(std::function<nlohmann::json()> write) {
  std::packaged_task<nlohmann::json()> task([write = std::move(write)] {
    yield_to_training();
    return write();
  });
  result_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

bool BackgroundWrite::is_over() const {
  return !result_.valid() || result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void BackgroundWrite::wait() const {
  if (result_.valid()) result_.wait();
}

nlohmann::json BackgroundWrite::take() {
  if (!result_.valid()) return nullptr;
  thread_.join();
  return result_.get();
}

}  // namespace ltr
