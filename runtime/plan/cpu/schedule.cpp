#include "runtime/plan/cpu/schedule.h"

#include <algorithm>
#include <unordered_map>

namespace ltr::plan {

namespace {

/// Phases of calls alone.
void schedule_calls(std::vector<Call> calls, std::vector<Phase>& phases) {
  std::unordered_map<ValueId, size_t> maker;
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const Touched& written : calls[i].writes) maker[written.root] = i;
  }
  constexpr size_t kNever = ~size_t(0);
  std::vector<size_t> phase_of(calls.size(), kNever);
  std::vector<size_t> waiting;
  for (size_t i = 0; i < calls.size(); ++i) waiting.push_back(i);
  for (size_t phase = 0; !waiting.empty(); ++phase) {
    const auto may_run = [&](size_t at, const Touched& read) {
      const auto made = maker.find(read.root);
      if (made == maker.end() || made->second >= at) return true;
      const Call& writer = calls[made->second];
      if (phase_of[made->second] != phase) return phase_of[made->second] != kNever;
      // In the same phase a thread has its own samples, and what it did alone.
      if (writer.split == Split::Alone) return calls[at].split == Split::Alone;
      if (writer.split != Split::Samples || calls[at].split != Split::Samples || !read.is_own) return false;
      return std::all_of(writer.writes.begin(), writer.writes.end(),
                         [&](const Touched& written) { return written.root != read.root || written.is_own; });
    };
    Phase next;
    std::vector<size_t> left, taken;
    for (const size_t at : waiting) {
      const auto& reads = calls[at].reads;
      const bool runs = std::all_of(reads.begin(), reads.end(), [&](const Touched& read) { return may_run(at, read); });
      if (runs) phase_of[at] = phase;
      (runs ? taken : left).push_back(at);
    }
    for (const size_t at : taken) next.calls.push_back(std::move(calls[at]));
    // Moved calls are asked about no more: what was written in earlier phases is there.
    for (const size_t at : taken) calls[at].split = Split::Alone;
    phases.push_back(std::move(next));
    waiting = std::move(left);
  }
}

}  // namespace

std::vector<Phase> schedule(std::vector<Item> items) {
  std::vector<Phase> phases;
  std::vector<Call> calls;
  for (Item& item : items) {
    if (!item.node) {
      calls.push_back(std::move(item.call));
      continue;
    }
    schedule_calls(std::exchange(calls, {}), phases);
    phases.push_back({.node = item.node});
  }
  schedule_calls(std::move(calls), phases);
  return phases;
}

}  // namespace ltr::plan
