#include "runtime/plan/cpu/schedule.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ltr::plan {

namespace {

/// What a call waits for.
struct Need {
  size_t call;
  Touched read;         ///< of what that one wrote
  bool is_flow = true;  ///< else both write the same memory, or this one writes what that one read
};

/// By call. Most memory is written once; running values that are kept from batch to batch are read, then written.
std::vector<std::vector<Need>> needs_of(const std::vector<Call>& calls) {
  struct Users {
    Option<size_t> writer;
    std::vector<size_t> readers;  ///< since then
  };
  std::unordered_map<ValueId, Users> users;
  std::vector<std::vector<Need>> needs(calls.size());
  for (size_t at = 0; at < calls.size(); ++at) {
    for (const Touched& read : calls[at].reads) {
      Users& of = users[read.root];
      if (of.writer) needs[at].push_back({*of.writer, read});
      of.readers.push_back(at);
    }
    for (const Touched& written : calls[at].writes) {
      Users& of = users[written.root];
      if (of.writer) needs[at].push_back({*of.writer, written, false});
      for (const size_t reader : of.readers) {
        if (reader != at) needs[at].push_back({reader, written, false});
      }
      of = {at, {}};
    }
  }
  return needs;
}

/// What waits for the end of a phase keeps what it reads: of more memory than this a phase ends, which costs a microsecond.
constexpr int64_t kMostWaiting = 4 << 20;

/// Phases of calls alone. `bytes` of each root.
void schedule_calls(std::vector<Call> calls, const std::vector<int64_t>& bytes, std::vector<Phase>& phases) {
  constexpr size_t kNever = ~size_t(0);
  const std::vector<std::vector<Need>> needs = needs_of(calls);
  std::vector<size_t> phase_of(calls.size(), kNever);
  std::vector<size_t> waiting;
  for (size_t i = 0; i < calls.size(); ++i) waiting.push_back(i);
  // What all threads prepare together, weights above all, comes first and by itself: so it parts no samples from those behind them.
  std::vector<bool> is_needed(calls.size());
  for (const auto& list : needs) {
    for (const Need& need : list) is_needed[need.call] = true;
  }
  const auto prepares = [&](size_t at) {
    return needs[at].empty() && is_needed[at] && calls[at].split != Split::Samples;
  };
  const bool begins_with_preparations = std::ranges::any_of(waiting, prepares);
  for (size_t phase = 0; !waiting.empty(); ++phase) {
    const auto may_run = [&](size_t at, const Need& need) {
      const Call& other = calls[need.call];
      if (phase_of[need.call] != phase) return phase_of[need.call] != kNever;
      // In the same phase a thread has its own samples, and what it did alone.
      if (other.split == Split::Alone) return calls[at].split == Split::Alone;
      if (!need.is_flow || other.split != Split::Samples || calls[at].split != Split::Samples || !need.read.is_own)
        return false;
      return std::all_of(other.writes.begin(), other.writes.end(),
                         [&](const Touched& written) { return written.root != need.read.root || written.is_own; });
    };
    Phase next;
    std::vector<size_t> left, taken;
    std::unordered_set<ValueId> kept;
    int64_t bytes_kept = 0;
    for (const size_t at : waiting) {
      const bool has_turn = phase > 0 || !begins_with_preparations || prepares(at);
      const bool runs = has_turn && bytes_kept <= kMostWaiting &&
                        std::ranges::all_of(needs[at], [&](const Need& need) { return may_run(at, need); });
      for (const Need& need : needs[at]) {
        const bool waits = !runs && need.is_flow && phase_of[need.call] == phase;
        if (waits && kept.insert(need.read.root).second) bytes_kept += bytes[need.read.root];
      }
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

/// Samples of a chain of calls: as many as leave half of a cache to the kernels themselves.
int64_t samples_of(const std::vector<Call>& calls, const Chain& chain, const std::vector<int64_t>& bytes,
                   int64_t samples) {
  constexpr int64_t kCache = 512 << 10;
  std::unordered_set<ValueId> roots;
  for (size_t at = chain.begin; at < chain.end; ++at) {
    for (const auto* touched : {&calls[at].reads, &calls[at].writes}) {
      for (const Touched& one : *touched) {
        if (one.is_own) roots.insert(one.root);
      }
    }
  }
  int64_t of_sample = 1;
  for (const ValueId root : roots) of_sample += bytes[root] / samples;
  return std::clamp<int64_t>(kCache / of_sample, 1, samples);
}

std::vector<Chain> chains_of(const std::vector<Call>& calls, const std::vector<int64_t>& bytes, int64_t samples) {
  const auto joins = [&](const Call& call) { return call.split == Split::Samples && call.kernel->goes_in_pieces(); };
  std::vector<Chain> chains;
  for (size_t begin = 0; begin < calls.size();) {
    size_t end = begin + 1;
    while (end < calls.size() && joins(calls[begin]) && joins(calls[end])) ++end;
    Chain& chain = chains.emplace_back(begin, end, samples);
    if (end - begin > 1) chain.samples = samples_of(calls, chain, bytes, samples);
    begin = end;
  }
  return chains;
}

}  // namespace

std::vector<Phase> schedule(std::vector<Item> items, const std::vector<int64_t>& bytes, int64_t samples) {
  std::vector<Phase> phases;
  std::vector<Call> calls;
  for (Item& item : items) {
    if (!item.node) {
      calls.push_back(std::move(item.call));
      continue;
    }
    schedule_calls(std::exchange(calls, {}), bytes, phases);
    phases.push_back({.node = item.node});
  }
  schedule_calls(std::move(calls), bytes, phases);
  for (Phase& phase : phases) phase.chains = chains_of(phase.calls, bytes, samples);
  return phases;
}

}  // namespace ltr::plan
