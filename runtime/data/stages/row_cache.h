#pragma once

// Rows of records kept in memory, filled by any worker. Reading and storing take no lock.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ltr/api.h"

namespace ltr {

/// What pure maps may keep, all together.
inline constexpr int64_t kMapCacheBytes = int64_t(256) << 20;

class RowCache {
 public:
  /// Room for `used` of `keys` rows of `schema`; null if they take more than `limit`, or (0) more than is
  /// left of kMapCacheBytes. Memory is taken page by page as rows are stored.
  static std::unique_ptr<RowCache> make(const Schema& schema, int64_t used, int64_t keys, int64_t limit = 0);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  /// The row `key`, or null if nobody has stored it.
  const std::byte* find(int64_t key) const;
  /// Lets `write` fill the row, unless somebody has begun to.
  void store(int64_t key, const std::function<void(std::byte*)>& write) const;
  size_t offset(size_t field) const { return offsets_[field]; }
  size_t bytes(size_t field) const { return bytes_[field]; }

 private:
  RowCache() = default;
  enum : uint8_t { kEmpty, kBegun, kReady };
  std::vector<size_t> offsets_;
  std::vector<size_t> bytes_;
  size_t stride_ = 0;
  size_t mapped_ = 0;
  int64_t charged_ = 0;
  std::byte* rows_ = nullptr;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
};

}  // namespace ltr
