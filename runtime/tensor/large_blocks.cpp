#include "runtime/tensor/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace ltr {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kLeastSegment = size_t(32) << 20;
constexpr size_t kLeastRest = 4096;  // less is left with the block
constexpr size_t kOfOthers = size_t(64) << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Begins at a huge page, so that all of it can be made of them.
void* map_segment(size_t size) {
  void* const raw = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(raw);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePage) ::munmap(begin + before + size, kHugePage - before);
  ::madvise(begin + before, size, MADV_HUGEPAGE);  // a wish: without it all works, slower
  return begin + before;
}

/// Whether stacks, libraries and small tensors still find what they need.
bool leaves_room() {
  void* const room = ::mmap(nullptr, kOfOthers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, kOfOthers);
  return true;
}

}  // namespace

/// Stands before the bytes of a block. Those of one segment lie one behind the other.
struct alignas(kLine) LargeBlocks::Block {
  size_t size;      ///< with this head
  Block* previous;  ///< null for the first of a segment
  bool is_free;
  bool is_last;              ///< of a segment
  Block* smaller = nullptr;  ///< its neighbours in the list of those that are free
  Block* larger = nullptr;
};

LargeBlocks::Block* LargeBlocks::fitting(size_t size) const {
  for (size_t bits = size_t(std::bit_width(size)); bits < free_.size(); ++bits) {
    for (Block* block = free_[bits]; block != nullptr; block = block->larger) {
      if (block->size >= size) return block;
    }
  }
  return nullptr;
}

void LargeBlocks::put(Block* block) {
  Block** place = &free_[size_t(std::bit_width(block->size))];
  block->smaller = nullptr;
  while (*place != nullptr && ((*place)->size < block->size || ((*place)->size == block->size && *place < block))) {
    block->smaller = *place;
    place = &(*place)->larger;
  }
  block->larger = *place;
  if (block->larger != nullptr) block->larger->smaller = block;
  *place = block;
}

void LargeBlocks::remove(Block* block) {
  if (block->smaller != nullptr) {
    block->smaller->larger = block->larger;
  } else {
    free_[size_t(std::bit_width(block->size))] = block->larger;
  }
  if (block->larger != nullptr) block->larger->smaller = block->smaller;
}

LargeBlocks::~LargeBlocks() {
  for (const Segment& segment : segments_) ::munmap(segment.begin, segment.size);
}

LargeBlocks::Block* LargeBlocks::after(Block* block) {
  return block->is_last ? nullptr : reinterpret_cast<Block*>(reinterpret_cast<char*>(block) + block->size);
}

size_t LargeBlocks::size_of(const void* memory) {
  return (static_cast<const Block*>(memory) - 1)->size - sizeof(Block);
}

void* LargeBlocks::take(size_t bytes) {
  static_assert(sizeof(Block) == kLine);
  const size_t size = round_up(bytes, kLine) + sizeof(Block);
  Block* block = fitting(size);
  if (block != nullptr) {
    remove(block);
  } else {
    block = grow(size);
    if (block == nullptr) return nullptr;
  }
  block->is_free = false;
  cut(block, size);
  return block + 1;
}

/// A block that is a whole new segment, half as large as all before it, or as large as it must be where memory ends.
LargeBlocks::Block* LargeBlocks::grow(size_t bytes) {
  segments_.reserve(segments_.size() + 1);
  const size_t least = round_up(bytes, kHugePage);
  size_t size = std::max({least, round_up(mapped_ / 2, kHugePage), kLeastSegment});
  void* memory = map_segment(size);
  if (memory != nullptr && size > least && !leaves_room()) {
    ::munmap(memory, size);
    memory = nullptr;
  }
  if (memory == nullptr) {
    size = least;
    memory = map_segment(size);
  }
  if (memory == nullptr && give_back() > 0) memory = map_segment(size);
  if (memory == nullptr) return nullptr;
  segments_.push_back({memory, size});
  mapped_ += size;
  return new (memory) Block{size, nullptr, true, true};
}

size_t LargeBlocks::give_back() {
  size_t given = 0;
  for (Segment& segment : segments_) {
    Block* last = static_cast<Block*>(segment.begin);
    for (; !last->is_last; last = after(last)) {
      if (last->is_free) empty(last);
    }
    if (!last->is_free) continue;
    // The head stays, unless nothing of the segment is in use.
    const size_t before = size_t(reinterpret_cast<char*>(last) - static_cast<char*>(segment.begin));
    const size_t kept = before == 0 ? 0 : round_up(before + sizeof(Block), kPage);
    if (segment.size - kept < kPage) continue;
    remove(last);
    ::munmap(static_cast<char*>(segment.begin) + kept, segment.size - kept);
    given += segment.size - kept;
    segment.size = kept;
    if (kept == 0) continue;
    last->size = kept - before;
    put(last);
  }
  std::erase_if(segments_, [](const Segment& segment) { return segment.size == 0; });
  mapped_ -= given;
  return given;
}

/// The pages between blocks in use go back, too, and their place stays: one that is kept in the middle holds nothing else.
void LargeBlocks::empty(Block* block) {
  const size_t begin = round_up(reinterpret_cast<uintptr_t>(block + 1), kPage);
  const size_t end = (reinterpret_cast<uintptr_t>(block) + block->size) / kPage * kPage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

/// Makes `block` as small as `size`; the rest is free.
void LargeBlocks::cut(Block* block, size_t size) {
  if (block->size - size < kLeastRest) return;
  Block* const rest =
      new (reinterpret_cast<char*>(block) + size) Block{block->size - size, block, true, block->is_last};
  if (Block* const next = after(rest)) next->previous = rest;
  block->size = size;
  block->is_last = false;
  put(rest);
}

void LargeBlocks::give(void* memory) {
  Block* block = static_cast<Block*>(memory) - 1;
  Block* const next = after(block);
  if (next != nullptr && next->is_free) {
    remove(next);
    block->size += next->size;
    block->is_last = next->is_last;
  }
  if (block->previous != nullptr && block->previous->is_free) {
    Block* const previous = block->previous;
    remove(previous);
    previous->size += block->size;
    previous->is_last = block->is_last;
    block = previous;
  }
  if (Block* const behind = after(block)) behind->previous = block;
  block->is_free = true;
  put(block);
}

}  // namespace ltr
