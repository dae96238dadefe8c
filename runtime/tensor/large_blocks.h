#pragma once

// Memory in large pieces, cut from segments of the operating system that are kept, as they may be needed again, until there is no
// memory any more: best fit, neighbours that are free become one.

#include <array>
#include <cstddef>
#include <cstdint>
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
  /// Gives the system what is free: the pages of all, and the ends of segments with their addresses, of which it says how many bytes. Where
  /// memory ends it may be what others need.
  size_t give_back();
  /// What `take` gave, in bytes.
  static size_t size_of(const void* memory);

  size_t mapped() const { return mapped_; }

 private:
  struct Block;
  struct Segment {
    void* begin;
    size_t size;
  };

  /// The smallest that is free and holds `size`, the lowest of those that are equal; null if there is none.
  Block* fitting(size_t size) const;
  void put(Block* block);
  void remove(Block* block);
  Block* grow(size_t bytes);
  void cut(Block* block, size_t size);
  static void empty(Block* block);
  static Block* after(Block* block);

  /// Free blocks by the bits of their size, each list from the smallest on. They are linked in their heads: where memory ends,
  /// giving some back must not need any.
  std::array<Block*, 64> free_{};
  std::vector<Segment> segments_;
  size_t mapped_ = 0;
};

}  // namespace ltr
