#include "runtime/data/stages/row_cache.h"

#include <sys/mman.h>

#include "runtime/data/rows.h"

namespace ltr {

namespace {

std::atomic<int64_t> bytes_in_use = 0;
constexpr int64_t kMaxAddressSpace = int64_t(64) << 30;

}  // namespace

std::unique_ptr<RowCache> RowCache::make(const Schema& schema, int64_t used, int64_t keys, int64_t limit) {
  std::unique_ptr<RowCache> cache(new RowCache);
  for (const FieldInfo& field : schema) {
    cache->offsets_.push_back(cache->stride_);
    cache->bytes_.push_back(size_t(row_bytes(field)));
    cache->stride_ += (cache->bytes_.back() + 7) / 8 * 8;  // tensors over the rows are aligned
  }
  const auto stride = int64_t(cache->stride_);
  if (stride == 0 || used <= 0 || keys > kMaxAddressSpace / stride) return nullptr;
  const int64_t wanted = stride * used;
  if (limit == 0) {
    if (bytes_in_use.fetch_add(wanted) + wanted > kMapCacheBytes) {
      bytes_in_use.fetch_sub(wanted);
      return nullptr;
    }
    cache->charged_ = wanted;
  } else if (wanted > limit) {
    return nullptr;
  }
  // Reserved for all keys, so that a row is found by arithmetic; pages never touched cost nothing.
  cache->mapped_ = size_t(stride * keys);
  void* memory =
      ::mmap(nullptr, cache->mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  cache->rows_ = static_cast<std::byte*>(memory);
  cache->states_ = std::make_unique<std::atomic<uint8_t>[]>(size_t(keys));
  return cache;
}

RowCache::~RowCache() {
  bytes_in_use.fetch_sub(charged_);
  if (rows_ != nullptr) ::munmap(rows_, mapped_);
}

const std::byte* RowCache::find(int64_t key) const {
  if (states_[size_t(key)].load(std::memory_order_acquire) != kReady) return nullptr;
  return rows_ + size_t(key) * stride_;
}

void RowCache::store(int64_t key, const std::function<void(std::byte*)>& write) const {
  std::atomic<uint8_t>& state = states_[size_t(key)];
  uint8_t expected = kEmpty;
  if (!state.compare_exchange_strong(expected, kBegun, std::memory_order_acquire)) return;
  write(rows_ + size_t(key) * stride_);
  state.store(kReady, std::memory_order_release);
}

}  // namespace ltr
