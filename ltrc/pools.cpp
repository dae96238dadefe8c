#include "ltrc/pools.h"

#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace ltr::driver {

namespace pools {

namespace {

constexpr size_t kStep = 16;
constexpr size_t kLargest = 512;                 ///< larger pieces are the C library's
constexpr size_t kSlab = size_t{32} << 10;       ///< holds pieces of one size
constexpr size_t kRegion = size_t{8} << 30;      ///< of addresses; what of it is not used is never there
constexpr size_t kHugePages = size_t{64} << 20;  ///< its first part is asked to lie on them

/// A piece that nobody has.
struct Piece {
  Piece* next;
};

struct Pool {
  Piece* first;
  std::byte* begin;  ///< of what is left of its newest slab
  std::byte* end;
};

// All of these are there before any constructor runs, and behind the last destructor.
constinit std::array<Pool, kLargest / kStep + 1> all{};
constinit std::array<uint8_t, kRegion / kSlab> pool_of_slab{};
constinit std::byte* region = nullptr;
constinit size_t slabs = 0;
/// What other threads freed.
constinit std::atomic<Piece*> returned{nullptr};
constinit thread_local bool has_pools = false;

bool is_of_region(const void* piece) {
  return size_t(static_cast<const std::byte*>(piece) - region) < kRegion && region != nullptr;
}

void put(void* piece) {
  Pool& pool = all[pool_of_slab[size_t(static_cast<std::byte*>(piece) - region) / kSlab]];
  pool.first = new (piece) Piece{pool.first};
}

/// Nothing once the region is used up.
void* carve(size_t number) {
  Pool& pool = all[number];
  for (Piece* piece = returned.exchange(nullptr, std::memory_order_acquire); piece != nullptr;) {
    Piece* const next = piece->next;
    put(piece);
    piece = next;
  }
  if (pool.first != nullptr) {
    Piece* const piece = pool.first;
    pool.first = piece->next;
    return piece;
  }
  const size_t size = number * kStep;
  if (size_t(pool.end - pool.begin) < size) {
    if (slabs == pool_of_slab.size()) return nullptr;
    pool_of_slab[slabs] = uint8_t(number);
    pool.begin = region + slabs++ * kSlab;
    pool.end = pool.begin + kSlab;
  }
  void* const piece = pool.begin;
  pool.begin += size;
  return piece;
}

void* take(size_t size) {
  const size_t number = std::max((size + kStep - 1) / kStep, size_t(1));
  Pool& pool = all[number];
  Piece* const piece = pool.first;
  if (piece == nullptr) return carve(number);
  pool.first = piece->next;
  return piece;
}

void give_back(void* piece) noexcept {
  if (!is_of_region(piece)) return std::free(piece);
  if (has_pools) return put(piece);
  Piece* const added = new (piece) Piece{returned.load(std::memory_order_relaxed)};
  while (!returned.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

}  // namespace pools

void use_pools() {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  void* const found =
      mmap(nullptr, pools::kRegion + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return;  // The limit of addresses is low: all of it is the C library's then.
  const uintptr_t before = reinterpret_cast<uintptr_t>(found) % kPage;
  pools::region = static_cast<std::byte*>(found) + (kPage - before) % kPage;
  madvise(pools::region, pools::kHugePages, MADV_HUGEPAGE);
  pools::has_pools = true;
}

}  // namespace ltr::driver

void* operator new(size_t size) {
  if (ltr::driver::pools::has_pools && size <= ltr::driver::pools::kLargest) {
    if (void* const piece = ltr::driver::pools::take(size)) return piece;
  }
  for (;;) {
    if (void* const piece = std::malloc(std::max(size, size_t(1)))) return piece;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* piece) noexcept { ltr::driver::pools::give_back(piece); }
void operator delete(void* piece, size_t) noexcept { ltr::driver::pools::give_back(piece); }

#else

void ltr::driver::use_pools() {}

#endif
