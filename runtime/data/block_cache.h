#pragma once

// Blocks of column files in memory, as many as fit.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "doors/column_file.h"

namespace ltr {

/// Threads that want the same block wait for the one that reads it.
class BlockCache {
 public:
  using Block = std::shared_ptr<const doors::RowBlock>;
  /// Keeps blocks of `limit` bytes together, and the one that was asked for last in any case.
  explicit BlockCache(int64_t limit) : limit_(limit) {}
  /// The block `key`, which `read` brings where it is not there. What `read` throws is thrown on; then it is read again.
  Block get(int64_t key, const std::function<Block()>& read);

 private:
  struct Entry {
    std::mutex mutex;
    Block block;
    int64_t bytes = 0;  ///< as far as it counts
    std::list<int64_t>::iterator use;
  };
  void make_room();

  int64_t limit_;
  int64_t bytes_ = 0;
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<Entry>> entries_;
  std::list<int64_t> uses_;  ///< keys, the last used first
};

}  // namespace ltr
