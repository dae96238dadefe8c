#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ltr::check {

/// Values that are added and never taken away, each known by a 32-bit id. What stands in a store keeps its place in
/// memory, so that a reference to it is good while others are added. `Id` has a `uint32_t index`.
template <class Id, class T>
class Store {
 public:
  Id add(T&& value) {
    if (size_ % kChunk == 0) {
      chunks_.emplace_back();
      chunks_.back().reserve(kChunk);
    }
    chunks_.back().push_back(std::move(value));
    return Id{size_++};
  }
  const T& operator[](Id id) const { return chunks_[id.index / kChunk][id.index % kChunk]; }
  uint32_t size() const { return size_; }

  Store() = default;
  // A copy of a chunk would not keep the room for those that are still to come.
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&& other) noexcept : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  Store& operator=(Store&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~Store() = default;

 private:
  static constexpr uint32_t kChunk = 256;
  std::vector<std::vector<T>> chunks_;
  uint32_t size_ = 0;
};

}  // namespace ltr::check
