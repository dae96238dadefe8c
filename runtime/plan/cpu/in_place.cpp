#include "runtime/plan/cpu/in_place.h"

#include <algorithm>
#include <numeric>

namespace ltr::plan {

namespace {

/// Where a call reads or writes a root.
struct Use {
  size_t phase, call;
  bool is_own;  ///< of each thread's own samples alone
  bool is_at(size_t of_phase, size_t of_call) const { return phase == of_phase && call == of_call; }
};

std::vector<std::vector<Use>> uses_of(const std::vector<const Phase*>& phases, size_t roots) {
  std::vector<std::vector<Use>> uses(roots);
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    const std::vector<Call>& calls = phases[phase]->calls;
    for (size_t at = 0; at < calls.size(); ++at) {
      const bool is_split = calls[at].split == Split::Samples;
      for (const auto* touched : {&calls[at].reads, &calls[at].writes}) {
        for (const Touched& one : *touched) uses[one.root].push_back({phase, at, is_split && one.is_own});
      }
    }
  }
  return uses;
}

}  // namespace

std::vector<ValueId> owners_of(const std::vector<const Phase*>& phases, const std::vector<int64_t>& bytes,
                               const std::vector<bool>& stays) {
  const std::vector<std::vector<Use>> uses = uses_of(phases, bytes.size());
  std::vector<ValueId> owners(bytes.size());
  std::iota(owners.begin(), owners.end(), ValueId(0));
  std::vector<bool> is_over(bytes.size());
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    const std::vector<Call>& calls = phases[phase]->calls;
    for (size_t at = 0; at < calls.size(); ++at) {
      // In one phase a thread knows only that it has done with its own samples itself.
      const bool has_samples = calls[at].split == Split::Samples;
      const auto is_done = [&](const Use& use) {
        const bool is_in_front = use.phase == phase && use.call < at && use.is_own && has_samples;
        return use.phase < phase || use.is_at(phase, at) || is_in_front;
      };
      const auto begins = [&](const Use& use) { return use.phase > phase || (use.phase == phase && use.call >= at); };
      for (const auto& [read, written] : calls[at].kernel->in_place()) {
        if (stays[read] || stays[written] || is_over[read] || owners[written] != written) continue;
        if (bytes[read] != bytes[written] || !std::ranges::all_of(uses[read], is_done)) continue;
        if (!std::ranges::all_of(uses[written], begins)) continue;
        is_over[read] = true;
        owners[written] = owners[read];
      }
    }
  }
  return owners;
}

}  // namespace ltr::plan
