#pragma once

// What a stage keeps records in, made when the first loader asks for it, while workers of another may be reading the stage.

#include <atomic>
#include <memory>
#include <mutex>

namespace ltr {

template <class T>
class Planned {
 public:
  /// Null until it was made.
  T* get() const { return made_.load(std::memory_order_acquire); }
  /// Makes it as `make` does, unless it is there; null if `make` gives none.
  template <class Make>
  T* plan(Make&& make) {
    const std::lock_guard lock(mutex_);
    if (owner_ == nullptr) {
      owner_ = make();
      made_.store(owner_.get(), std::memory_order_release);
    }
    return owner_.get();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<T> owner_;
  std::atomic<T*> made_ = nullptr;
};

}  // namespace ltr
