#include "runtime/tensor/memory_pool.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>

#include <c10/core/CPUAllocator.h>

#include "runtime/tensor/large_blocks.h"

namespace ltr {

namespace {

constexpr size_t kAlign = 64;  // a cache line, and what the kernels of LibTorch expect

/// Small sizes are rounded up to one of a few: multiples of 64 up to 1 KiB, then eight to every power of two.
constexpr size_t kFine = 16;
constexpr size_t kSmall = size_t(64) << 10;
constexpr size_t kClasses = kFine + 8 * 6 + 1;

size_t class_of(size_t bytes) {
  if (bytes <= kFine * kAlign) return (bytes + kAlign - 1) / kAlign;
  const int shift = std::bit_width(bytes - 1) - 4;
  return kFine + size_t(shift - 7) * 8 + ((bytes - 1) >> shift) - 7;
}

size_t class_size(size_t index) {
  if (index <= kFine) return index * kAlign;
  const size_t step = index - kFine - 1;
  return (step % 8 + 9) << (step / 8 + 7);
}

/// Stands before the bytes of a tensor.
struct alignas(kAlign) Head {
  size_t index = 0;      ///< of its class; 0 for a large one
  Head* next = nullptr;  ///< while it is free
};
static_assert(sizeof(Head) == kAlign);

thread_local int64_t taken_here = 0;

class MemoryPool final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    void* const data = take(bytes + sizeof(Head)) + 1;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    MemoryUse all = use_;
    all.held += int64_t(large_.mapped());
    return all;
  }

 private:
  static void release(void* data);

  Head* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Head* const head = bytes <= kSmall ? take_small(class_of(bytes)) : take_large(bytes);
    TORCH_CHECK(head != nullptr, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes, " bytes");
    use_.live += int64_t(size_of(head));
    use_.peak = std::max(use_.peak, use_.live);
    taken_here += int64_t(bytes);
    return head;
  }

  Head* take_small(size_t index) {
    Head* const head = free_[index];
    if (head != nullptr) {
      free_[index] = head->next;
      return head;
    }
    void* memory = nullptr;
    if (::posix_memalign(&memory, kAlign, class_size(index)) != 0) return nullptr;
    use_.held += int64_t(class_size(index));
    return new (memory) Head{index, nullptr};
  }

  Head* take_large(size_t bytes) {
    void* const memory = large_.take(bytes);
    return memory == nullptr ? nullptr : new (memory) Head;
  }

  void give(Head* head) {
    const std::lock_guard lock(mutex_);
    use_.live -= int64_t(size_of(head));
    if (head->index == 0) {
      large_.give(head);
      return;
    }
    head->next = free_[head->index];
    free_[head->index] = head;
  }

  static size_t size_of(const Head* head) {
    return head->index == 0 ? LargeBlocks::size_of(head) : class_size(head->index);
  }

  std::mutex mutex_;  // of the step and the threads that read data
  std::array<Head*, kClasses> free_ = {};
  LargeBlocks large_;
  MemoryUse use_;
};

/// Never destroyed: tensors in static storage may outlive anything else.
MemoryPool& pool() {
  static MemoryPool* const only = new MemoryPool;
  return *only;
}

void MemoryPool::release(void* data) {
  if (data != nullptr) pool().give(static_cast<Head*>(data) - 1);
}

}  // namespace

void use_memory_pool() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  c10::SetCPUAllocator(&pool(), 1);
  // What libraries take beside tensors, such as oneDNN's scratch memory, is kept in the same way.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
}

MemoryUse memory_use() { return pool().use(); }

int64_t bytes_taken_here() { return taken_here; }

}  // namespace ltr
