#pragma once

// Memory in large pieces, cut from segments of the operating system that are never given back while they may be needed
// again: best fit, neighbours that are free become one.

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ltr {

/// Not for several threads: who uses it locks.
class LargeBlocks {
 public:
  LargeBlocks() = default;
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;
  ~LargeBlocks();

  /// At least `bytes`, at a cache line; null if the system has no more. Between two of them lie 64 bytes that are not
  /// theirs, so that arrays of a round size do not begin in the same lines of a cache.
  void* take(size_t bytes);
  void give(void* memory);
  /// What `take` gave, in bytes.
  static size_t size_of(const void* memory);

  size_t mapped() const { return mapped_; }

 private:
  struct Block;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct Segment {
    void* begin;
    size_t size;
  };

  Block* grow(size_t bytes);
  void cut(Block* block, size_t size);
  static Block* after(Block* block);

  std::set<Block*, BySize> free_;
  std::vector<Segment> segments_;
  size_t mapped_ = 0;
};

}  // namespace ltr
