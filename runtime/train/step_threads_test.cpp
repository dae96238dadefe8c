#include "runtime/train/step_threads.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

namespace ltr {

namespace {

int threads_in(StepThreads& threads, Role role, int64_t samples) {
  const StepThreads::Scope scope(threads, role, samples);
  return at::get_num_threads();
}

struct ThreadCount {
  explicit ThreadCount(int count) : before(at::get_num_threads()) { at::set_num_threads(count); }
  ~ThreadCount() { at::set_num_threads(before); }
  int before;
};

}  // namespace

TEST_CASE("a step is small by its bytes and by its products") {
  CHECK(is_small_step(300'000, 6'400, 64));             // 32-64-64-2
  CHECK_FALSE(is_small_step(3'000'000, 669'706, 128));  // 784-512-512-10
  CHECK_FALSE(is_small_step(100'000'000, 1'000, 16));   // convolutions: few weights, large tensors
  CHECK_FALSE(is_small_step(1'000, 1'000'000'000, 1));
}

TEST_CASE("a small step computes with one thread from its second time on, others with all") {
  const ThreadCount two(2);
  StepThreads threads(6'400);
  CHECK(threads_in(threads, Role::Train, 64) == 2);
  CHECK(threads_in(threads, Role::Train, 64) == 1);
  CHECK(at::get_num_threads() == 2);
  CHECK(threads_in(threads, Role::Val, 1'000'000) == 2);
  CHECK(threads_in(threads, Role::Val, 64) == 2);  // what the first decided stays
}

TEST_CASE("what was decided is kept by a checkpoint") {
  const ThreadCount two(2);
  StepThreads threads(6'400);
  threads_in(threads, Role::Train, 64);
  threads_in(threads, Role::Val, 1'000'000);
  CheckpointData data;
  SaveArchive saved(data);
  threads.visit(saved);
  StepThreads other(6'400);
  LoadArchive loaded(data);
  other.visit(loaded);
  CHECK(threads_in(other, Role::Train, 64) == 1);
  CHECK(threads_in(other, Role::Val, 64) == 2);
}

}  // namespace ltr
