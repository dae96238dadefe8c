#include "runtime/checkpoint/background_write.h"

#include <utility>

#include "runtime/tensor/parallel.h"

namespace ltr {

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
