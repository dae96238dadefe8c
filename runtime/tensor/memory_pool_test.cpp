#include "runtime/tensor/memory_pool.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "runtime/tensor/large_blocks.h"

namespace ltr {

TEST_CASE("large blocks keep their bytes, lie at cache lines and are used again") {
  LargeBlocks blocks;
  struct Held {
    unsigned char* data;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Held> held;
  std::mt19937 draw(1);
  size_t live = 0;
  size_t peak = 0;
  for (int i = 0; i < 4000; i++) {
    if (held.size() < 40 && draw() % 2 == 0) {
      const size_t bytes = 1 + draw() % (size_t(1) << (10 + draw() % 14));
      const auto mark = static_cast<unsigned char>(draw());
      auto* const data = static_cast<unsigned char*>(blocks.take(bytes));
      REQUIRE(data != nullptr);
      CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
      CHECK(LargeBlocks::size_of(data) >= bytes);
      std::memset(data, mark, bytes);
      held.push_back({data, bytes, mark});
      live += LargeBlocks::size_of(data);
      peak = std::max(peak, live);
    } else if (!held.empty()) {
      const size_t which = draw() % held.size();
      const Held one = held[which];
      held.erase(held.begin() + long(which));
      CHECK(one.data[0] == one.mark);
      CHECK(one.data[one.bytes - 1] == one.mark);
      live -= LargeBlocks::size_of(one.data);
      blocks.give(one.data);
    }
  }
  CHECK(blocks.mapped() <= 2 * peak + (size_t(64) << 20));
  const size_t mapped = blocks.mapped();
  for (const Held& one : held) blocks.give(one.data);
  // All of it is one piece again: the largest block fits without the system.
  void* const whole = blocks.take((size_t(32) << 20) - 4096);
  CHECK(blocks.mapped() == mapped);
  // Where memory ends the system gets what is not used: all behind the last block that is, of each segment.
  CHECK(blocks.give_back() >= mapped - (size_t(34) << 20));
  std::memset(whole, 1, LargeBlocks::size_of(whole));
  blocks.give(whole);
  CHECK(blocks.give_back() > 0);
  CHECK(blocks.mapped() == 0);
  CHECK(blocks.give_back() == 0);
  void* const again = blocks.take(1000);
  std::memset(again, 1, 1000);
  blocks.give(again);
}

TEST_CASE("the same step again asks the system for nothing") {
  LargeBlocks blocks;
  size_t after_first = 0;
  for (int step = 0; step < 50; step++) {
    std::vector<void*> made;
    for (size_t i = 1; i < 60; i++) made.push_back(blocks.take(i * 300'000));
    for (size_t i = 0; i < made.size(); i++) blocks.give(made[(i * 7) % made.size()]);
    if (step == 0) after_first = blocks.mapped();
  }
  CHECK(blocks.mapped() == after_first);
}

TEST_CASE("tensors of several threads keep their bytes, whoever frees them") {
  use_memory_pool();
  std::mutex mutex;
  std::vector<at::Tensor> passed;  // made by one thread, freed by another
  std::atomic<int> faults = 0;
  const auto work = [&](int which) {
    std::mt19937 draw{unsigned(which)};
    std::vector<at::Tensor> own;
    for (int i = 0; i < 3000; i++) {
      own.push_back(at::full({1 + int64_t(draw() % (i % 50 == 0 ? 200'000 : 2'000))}, which * 10'000 + i, at::kInt));
      if (own.size() < 20) continue;
      const std::lock_guard lock(mutex);
      passed.push_back(own.back());
      own.erase(own.begin(), own.begin() + 10);
      for (; passed.size() > 30; passed.erase(passed.begin())) {
        const at::Tensor& one = passed.front();
        const int* const numbers = one.const_data_ptr<int>();
        if (numbers[0] != numbers[one.numel() - 1]) faults++;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == 0);
}

TEST_CASE("more than the system has is refused") {
  LargeBlocks blocks;
  CHECK(blocks.take(size_t(1) << 60) == nullptr);
  void* const small = blocks.take(100);
  CHECK(small != nullptr);
  blocks.give(small);
}

TEST_CASE("what lies between two blocks in use goes back to the system, and comes again") {
  LargeBlocks blocks;
  constexpr size_t kBytes = size_t(8) << 20;
  void* const first = blocks.take(kBytes);
  void* const middle = blocks.take(kBytes);
  void* const last = blocks.take(kBytes);
  for (void* const one : {first, middle, last}) std::memset(one, 1, kBytes);
  const auto resident = [&] {
    const auto page = reinterpret_cast<uintptr_t>(middle) / 4096 * 4096;
    std::vector<unsigned char> pages(kBytes / 4096);
    REQUIRE(::mincore(reinterpret_cast<void*>(page), kBytes, pages.data()) == 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return one % 2 == 1; });
  };
  CHECK(resident() == int64_t(kBytes / 4096));
  blocks.give(middle);
  blocks.give_back();
  CHECK(resident() < 8);
  CHECK(static_cast<char*>(first)[kBytes - 1] == 1);
  CHECK(static_cast<char*>(last)[0] == 1);
  CHECK(blocks.take(kBytes) == middle);
  blocks.give_back();  // the end of the segment
  std::memset(middle, 2, kBytes);
  CHECK(static_cast<char*>(first)[kBytes - 1] == 1);
  CHECK(static_cast<char*>(last)[0] == 1);
}

}  // namespace ltr
