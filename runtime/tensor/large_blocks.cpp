#include "runtime/tensor/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <new>

namespace ltr {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kLeastSegment = size_t(32) << 20;
constexpr size_t kLeastRest = 4096;  // less is left with the block

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

}  // namespace

/// Stands before the bytes of a block. Those of one segment lie one behind the other.
struct alignas(kLine) LargeBlocks::Block {
  size_t size;      ///< with this head
  Block* previous;  ///< null for the first of a segment
  bool is_free;
  bool is_last;  ///< of a segment
};

bool LargeBlocks::BySize::operator()(const Block* a, const Block* b) const {
  return a->size != b->size ? a->size < b->size : std::less<>()(a, b);
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
  Block wanted = {size, nullptr, true, false};
  const auto found = free_.lower_bound(&wanted);
  Block* block = nullptr;
  if (found != free_.end()) {
    block = *found;
    free_.erase(found);
  } else {
    block = grow(size);
    if (block == nullptr) return nullptr;
  }
  block->is_free = false;
  cut(block, size);
  return block + 1;
}

/// A block that is a whole new segment, half as large as all before it or as large as it must be.
LargeBlocks::Block* LargeBlocks::grow(size_t bytes) {
  size_t size = round_up(std::max({bytes, mapped_ / 2, kLeastSegment}), kHugePage);
  void* memory = map_segment(size);
  if (memory == nullptr) {
    size = round_up(bytes, kHugePage);
    memory = map_segment(size);
  }
  if (memory == nullptr) return nullptr;
  segments_.push_back({memory, size});
  mapped_ += size;
  return new (memory) Block{size, nullptr, true, true};
}

/// Makes `block` as small as `size`; the rest is free.
void LargeBlocks::cut(Block* block, size_t size) {
  if (block->size - size < kLeastRest) return;
  Block* const rest =
      new (reinterpret_cast<char*>(block) + size) Block{block->size - size, block, true, block->is_last};
  if (Block* const next = after(rest)) next->previous = rest;
  block->size = size;
  block->is_last = false;
  free_.insert(rest);
}

void LargeBlocks::give(void* memory) {
  Block* block = static_cast<Block*>(memory) - 1;
  Block* const next = after(block);
  if (next != nullptr && next->is_free) {
    free_.erase(next);
    block->size += next->size;
    block->is_last = next->is_last;
  }
  if (block->previous != nullptr && block->previous->is_free) {
    Block* const previous = block->previous;
    free_.erase(previous);
    previous->size += block->size;
    previous->is_last = block->is_last;
    block = previous;
  }
  if (Block* const behind = after(block)) behind->previous = block;
  block->is_free = true;
  free_.insert(block);
}

}  // namespace ltr
