#include "runtime/tensor/memory_pool.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

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

/// Free blocks of one class.
struct Shelf {
  Head* first = nullptr;
  size_t count = 0;

  void put(Head* head) {
    head->next = first;
    first = head;
    count++;
  }
  Head* take() {
    Head* const head = first;
    first = head->next;
    count--;
    return head;
  }
  void move_to(Shelf& other, size_t most) {
    for (; most > 0 && first != nullptr; most--) other.put(take());
  }
};

using Shelves = std::array<Shelf, kClasses>;

/// So many blocks of a class go between a thread and all at once.
size_t load_of(size_t index) { return std::clamp<size_t>((size_t(256) << 10) / class_size(index), 2, 32); }

/// Whether this thread holds the lock of the pool, whose own lists take memory, too.
thread_local bool holds_lock = false;

class Locked {
 public:
  explicit Locked(std::mutex& mutex) : lock_(mutex) { holds_lock = true; }
  ~Locked() { holds_lock = false; }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
};

/// Each thread takes and gives from shelves of its own, so that threads which read data and the step do not wait for
/// each other; by the load they exchange with the shelves of all.
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

  /// Gives the system what it does not use; false if that is nothing.
  bool give_back();

  /// All of a thread that ends.
  void take_back(Shelves& shelves) {
    const Locked lock(mutex_);
    for (size_t i = 0; i < kClasses; i++) shelves[i].move_to(shelves_[i], shelves[i].count);
  }

 private:
  static void release(void* data);
  Head* take(size_t bytes);
  Head* take_small(size_t index);
  void give(Head* head);

  std::mutex mutex_;  // of what all threads share
  Shelves shelves_;
  LargeBlocks large_;
};

/// Never destroyed: tensors in static storage may outlive anything else.
MemoryPool& pool() {
  static MemoryPool* const only = new MemoryPool;
  return *only;
}

thread_local int64_t taken_here = 0;
thread_local bool has_ended = false;

struct ThreadShelves {
  Shelves shelves;
  ~ThreadShelves() {
    has_ended = true;
    pool().take_back(shelves);
  }
};

/// Null where the thread is ending: what its last objects free goes to all.
Shelves* shelves_here() {
  if (has_ended) return nullptr;
  static thread_local ThreadShelves here;
  return &here.shelves;
}

Head* MemoryPool::take(size_t bytes) {
  Head* head = nullptr;
  if (bytes <= kSmall) {
    head = take_small(class_of(bytes));
  } else {
    const Locked lock(mutex_);
    void* const memory = large_.take(bytes);
    if (memory != nullptr) head = new (memory) Head;
  }
  TORCH_CHECK(head != nullptr, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes, " bytes");
  taken_here += int64_t(bytes);
  return head;
}

Head* MemoryPool::take_small(size_t index) {
  Shelves* const here = shelves_here();
  if (here == nullptr || (*here)[index].first == nullptr) {
    const Locked lock(mutex_);
    if (here != nullptr) {
      shelves_[index].move_to((*here)[index], load_of(index));
    } else if (shelves_[index].first != nullptr) {
      return shelves_[index].take();
    }
  }
  if (here != nullptr && (*here)[index].first != nullptr) return (*here)[index].take();
  void* memory = nullptr;
  const bool is_there = ::posix_memalign(&memory, kAlign, class_size(index)) == 0 ||
                        (give_back() && ::posix_memalign(&memory, kAlign, class_size(index)) == 0);
  return is_there ? new (memory) Head{index, nullptr} : nullptr;
}

bool MemoryPool::give_back() {
  if (holds_lock) return false;
  const Locked lock(mutex_);
  return large_.give_back() > 0;
}

void MemoryPool::give(Head* head) {
  Shelves* const here = head->index == 0 ? nullptr : shelves_here();
  if (here != nullptr) {
    Shelf& shelf = (*here)[head->index];
    const size_t load = load_of(head->index);
    shelf.put(head);
    if (shelf.count <= 2 * load) return;
    const Locked lock(mutex_);
    shelf.move_to(shelves_[head->index], load);
    return;
  }
  const Locked lock(mutex_);
  if (head->index == 0) {
    large_.give(head);
  } else {
    shelves_[head->index].put(head);
  }
}

void MemoryPool::release(void* data) {
  if (data != nullptr) pool().give(static_cast<Head*>(data) - 1);
}

}  // namespace

void use_memory_pool() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  c10::SetCPUAllocator(&pool(), 1);
  std::set_new_handler([] {
    if (!pool().give_back()) throw std::bad_alloc();
  });
  // What libraries take beside tensors, such as oneDNN's scratch memory, is kept in the same way.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
}

void give_back_memory() { pool().give_back(); }

int64_t bytes_taken_here() { return taken_here; }

}  // namespace ltr
