#include "runtime/train/step_threads.h"

#include <ATen/Parallel.h>

#include "runtime/tensor/memory_pool.h"
#include "runtime/train/feed.h"

// What LibTorch computes with: its loops are OpenMP's, its products MKL's, which keeps a count of its own. Setting it
// through `at::set_num_threads` would also resize a pool of threads, each time.
extern "C" {
void omp_set_num_threads(int threads) __attribute__((weak));
int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));
}

namespace ltr {

namespace {

void set_threads(int threads, int of_mkl) {
  if (omp_set_num_threads != nullptr) omp_set_num_threads(threads);
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(of_mkl);
}

}  // namespace

bool is_small_step(int64_t bytes, int64_t weights, int64_t samples) {
  // What one core of today does in a microsecond. A step has some thirty ops that would wake a second one, for one to
  // five microseconds each: below the limit half of the work is less than that.
  constexpr double kBytes = 1e4;
  constexpr double kProducts = 5e4;
  constexpr double kLimit = 200;
  return double(bytes) / kBytes + 6 * double(weights) * double(samples) / kProducts < kLimit;
}

StepThreads::StepThreads(int64_t weights) : weights_(weights), all_(at::get_num_threads()) {}

StepThreads::Scope::Scope(StepThreads& of, Role role, int64_t samples)
    : of_(of), role_(role), samples_(samples), taken_before_(bytes_taken_here()) {
  if (!of.is_small_[size_t(role)].value_or(false)) return;
  before_ = at::get_num_threads();
  if (before_ > 1) set_threads(1, 1);
}

StepThreads::Scope::~Scope() {
  if (before_ > 1) set_threads(before_, 0);
  std::optional<bool>& is_small = of_.is_small_[size_t(role_)];
  if (!is_small) is_small = is_small_step(bytes_taken_here() - taken_before_, of_.weights_, samples_);
}

void StepThreads::visit(Archive& archive) {
  if (!archive.has("small_steps")) return;
  const Archive::Part part(archive, "small_steps");
  for (size_t role = 0; role < kRoles; role++) {
    const Str name = role_name(Role(role));
    if (archive.is_reading() ? !archive.has(name) : !is_small_[role]) continue;
    bool is_small = is_small_[role].value_or(false);
    archive.value(name, is_small);
    is_small_[role] = is_small;
  }
}

}  // namespace ltr
