#pragma once

// A checkpoint is written by a thread of its own, while training goes on.

#include <functional>
#include <future>
#include <thread>

#include <nlohmann/json.hpp>

namespace ltr {

class BackgroundWrite {
 public:
  BackgroundWrite() = default;
  /// Ends when the thread has.
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

  /// Runs `write`, which must not exchange anything with other ranks. The one before is taken.
  void start(std::function<nlohmann::json()> write);
  /// Whether it has come to its end, well or not. True where nothing was started.
  bool is_over() const;
  /// Until it is over.
  void wait() const;
  /// Waits for it. What it gave, or throws what it threw; null where nothing was started.
  nlohmann::json take();

 private:
  std::future<nlohmann::json> result_;
  std::thread thread_;
};

}  // namespace ltr
