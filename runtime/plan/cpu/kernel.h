#pragma once

// What a plan for a CPU is made of: calls of kernels on fixed memory, each of which threads do together.

#include <atomic>
#include <memory>
#include <span>

#include "runtime/api/error.h"
#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/layout.h"

namespace ltr::plan {

/// Where the memory of each root begins, in this run.
using Memory = std::span<char* const>;

inline float* floats(Memory memory, const Layout& layout) {
  return reinterpret_cast<float*>(memory[layout.root]) + layout.offset;
}

/// What one of several threads does of a call.
struct Part {
  int index = 0, threads = 1;
  int64_t begin = 0, end = 0;  ///< samples of the batch, of calls that are split by them
  int64_t samples = 1;
  char* scratch = nullptr;  ///< memory of its own
  uint64_t key = 0;         ///< of the step's draws
  std::atomic<bool>* has_failed = nullptr;

  /// A value is out of range: the reference says which, and where.
  void fails() const { has_failed->store(true, std::memory_order_relaxed); }

  /// Of `count` things that are there for each sample, those of this part.
  std::pair<int64_t, int64_t> of(int64_t count) const { return {begin * (count / samples), end * (count / samples)}; }
  /// Of `count` things, a share.
  std::pair<int64_t, int64_t> share(int64_t count) const {
    return {count * index / threads, count * (index + 1) / threads};
  }
};

/// What stands behind the text of a product that `kernel` makes.
inline Str type_of(const kernels::ProductKernel& kernel) {
  return kernel.narrows() ? Str(" in ") + kernel.type : Str();
}

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  virtual void run(Memory memory, const Part& part) const = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  /// Whether it costs no more to run it for some samples, and again for the next ones.
  virtual bool goes_in_pieces() const { return true; }
  /// Roots that it reads, each with one that it may write in the same memory: element by element, behind the last time it reads that one.
  virtual std::vector<std::pair<ValueId, ValueId>> in_place() const { return {}; }
  /// Multiply-adds of all samples, where they are more than a few for each element.
  virtual double products() const { return 0; }
  /// For people: what it computes.
  virtual Str text() const = 0;
};

/// Who does what of a call.
enum class Split : uint8_t {
  Samples,  ///< each thread its own samples
  Shares,   ///< each thread a part, which it cuts itself
  Alone,    ///< one thread
};

/// For people: why one thread does a call, where others could do a part of it.
constexpr const char* kTooLittle = "too little to share";

/// A root that a call reads or writes.
struct Touched {
  ValueId root = kNone;
  bool is_own = false;  ///< each thread its own samples of it alone, and not all of it
  bool operator==(const Touched&) const = default;
};

struct Call {
  std::unique_ptr<Kernel> kernel;
  Split split = Split::Alone;
  std::vector<Touched> reads, writes;
  Location location;
  Str why;        ///< for people: why this kernel, where there are several for what it computes
  Str why_split;  ///< for people: why threads share it so, where what it reads does not tell
};

/// Whether the samples of `layout`, of a root of `elements`, lie apart: sample s within its share of the memory.
bool has_samples_apart(const Layout& layout, int64_t elements, int64_t samples);

}  // namespace ltr::plan
