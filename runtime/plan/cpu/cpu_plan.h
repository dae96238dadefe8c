#pragma once

// A graph as calls of kernels on fixed memory, which the threads of a team run together.

#include <set>
#include <unordered_map>

#include "runtime/plan/cpu/arena.h"
#include "runtime/plan/cpu/place.h"
#include "runtime/plan/cpu/schedule.h"
#include "runtime/plan/cpu/stopwatch.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan {

class CpuPlan {
 public:
  /// All values of `graph`, which outlives it, have sizes; `stretches` in the order in which they run. `kept`: weights and
  /// constants, the same tensors in each run. `of_tables`: results that may be sparse. `narrows`: products round what they multiply to
  /// bf16; values are f32.
  CpuPlan(const Graph& graph, const std::unordered_map<ValueId, Tensor>& kept, const std::vector<Stretch>& stretches,
          int64_t samples, int threads, std::shared_ptr<Arena> arena = std::make_shared<Arena>(),
          std::set<ValueId> of_tables = {}, bool narrows = false);
  CpuPlan(const CpuPlan&) = delete;
  CpuPlan& operator=(const CpuPlan&) = delete;

  /// One thread from now on, where meeting takes longer than what others would take over.
  void stay_alone_if_small();
  /// A run begins, with draws from `key`.
  void begin(uint64_t key);
  /// What an input is in this run.
  void set(ValueId id, const Tensor& value);
  /// False if a value is out of range: what the stretch gives is not there.
  bool run(size_t stretch);
  /// Shares the memory of the plan until its stretch runs again. Sparse where rows were summed for a table.
  at::Tensor view(ValueId id);
  /// What is there of it once the run is over.
  void end();

  int64_t bytes() const { return memory_bytes_; }
  int threads() const { return threads_; }
  /// What multiplies matrices.
  const kernels::ProductKernel& products() const { return lowering_.products(); }
  /// Times are taken from now on; while `traces`, of each call by itself.
  void measure(const bool& traces);
  /// Those that were taken; the last one is what threads waited for each other.
  std::vector<CallCost> costs() const;
  /// Calls one by one, and what of `costs()` they are.
  std::vector<CallSpan> spans() const;
  /// One line for each phase and call.
  Str text() const;
  /// For people: how many threads run it, and why no more where it is too small for them.
  Str threads_text() const;
  /// For people: which kernels these are.
  Str kernels_text() const;
  /// What lies in its memory when most of it is needed, the largest first, with the lines that made it.
  Str memory_text() const;

 private:
  struct Planned {
    std::vector<Phase> phases;
    size_t first = 0;  ///< of its phases, counted over all stretches
  };

  void keep_what_is_read(std::vector<std::vector<Item>>& items, const std::vector<Stretch>& stretches);
  void place_values(const std::vector<Stretch>& stretches);
  bool run_calls(const Phase* begin, const Phase* end);
  void run_chain(const Phase& phase, const Chain& chain, const Part& whole) const;
  void run_node(size_t node);
  std::set<ValueId> of_samples() const;

  const Graph& graph_;
  const std::unordered_map<ValueId, Tensor>& kept_;
  Lowering lowering_;
  Reference reference_;
  std::vector<int64_t> bytes_;  ///< by root
  std::vector<Planned> stretches_;
  size_t calls_ = 0;
  int threads_;
  Str why_alone_;  ///< "" where it runs on as many threads as there are
  std::shared_ptr<Arena> arena_;
  char* base_ = nullptr;                             ///< of the arena in this run
  std::vector<std::pair<ValueId, int64_t>> placed_;  ///< roots, and where they lie
  int64_t memory_bytes_ = 0, scratch_bytes_ = 0;
  struct Lying {
    Lifetime lifetime;
    const Call* writer;
  };
  std::vector<Lying> lying_;  ///< what has a place of its own there
  std::vector<char*> memory_;
  std::unordered_map<ValueId, at::Tensor> views_;
  std::vector<std::pair<ValueId, const Tensor*>> given_;
  std::unordered_map<ValueId, at::Tensor> held_;   ///< inputs, and what nodes gave
  std::vector<std::vector<ValueId>> dies_behind_;  ///< of these, by phase
  std::set<ValueId> changed_;                      ///< of what is given: calls write it
  uint64_t key_ = 0;
  std::unique_ptr<Stopwatch> stopwatch_;
};

/// Whether its sizes do not hang on values: only then memory is planned.
bool has_fixed_sizes(const Graph& graph);

}  // namespace ltr::plan
