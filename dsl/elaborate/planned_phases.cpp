#include "dsl/elaborate/planned_phases.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace ltr::elaborate {

namespace {

constexpr double kResultBytes = 4;
/// What waits for a phase to end keeps what it reads: of more than this a phase ends (`runtime/plan/cpu/schedule.cpp`).
constexpr double kMostWaiting = double(4 << 20) / kResultBytes;

/// By value, whose memory it has: its own, or that of one that functions of elements read for the last time as they write it, as
/// `runtime/plan/cpu/in_place.cpp` has it.
std::vector<size_t> owners_of(const PlannedStep& step, const std::map<size_t, size_t>& ends) {
  std::vector<size_t> order(step.calls.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return step.calls[a].phase < step.calls[b].phase; });
  // Places in that order.
  std::vector<std::vector<size_t>> uses(step.values.size());
  for (size_t place = 0; place < order.size(); ++place) {
    const PlannedCall& call = step.calls[order[place]];
    for (const auto* touched : {&call.reads, &call.writes}) {
      for (const size_t value : *touched) uses[value].push_back(place);
    }
  }
  std::vector<size_t> owners(step.values.size());
  std::iota(owners.begin(), owners.end(), size_t(0));
  std::vector<bool> is_over(step.values.size());
  for (size_t place = 0; place < order.size(); ++place) {
    const PlannedCall& call = step.calls[order[place]];
    if (!call.is_elements) continue;
    const auto is_done = [&](size_t use) {
      const PlannedCall& other = step.calls[order[use]];
      const bool is_of_samples =
          other.split == PlannedCall::Split::Samples && call.split == PlannedCall::Split::Samples;
      return use == place || (use < place && (other.phase < call.phase || is_of_samples));
    };
    for (const size_t read : call.reads) {
      for (const size_t written : call.writes) {
        if (is_over[read] || owners[written] != written || ends.contains(read) || ends.contains(written)) continue;
        if (step.values[read] != step.values[written] || !std::ranges::all_of(uses[read], is_done)) continue;
        if (std::ranges::any_of(uses[written], [&](size_t use) { return use < place; })) continue;
        is_over[read] = true;
        owners[written] = owners[read];
      }
    }
  }
  return owners;
}

}  // namespace

size_t schedule(PlannedStep& step, size_t begin, size_t end, size_t phase) {
  std::map<size_t, size_t> makers;
  std::vector<size_t> waiting;
  for (size_t at = begin; at < end; ++at) {
    step.calls[at].phase = kNoValue;
    for (const size_t value : step.calls[at].writes) makers[value] = at;
    waiting.push_back(at);
  }
  for (; !waiting.empty(); ++phase) {
    const auto may_run = [&](const PlannedCall& call, const PlannedCall& maker) {
      if (maker.phase != phase) return maker.phase != kNoValue;
      return maker.split == Split::Alone ? call.split == Split::Alone
                                         : maker.split == Split::Samples && call.split == Split::Samples;
    };
    std::vector<size_t> left;
    std::set<size_t> kept;
    double numbers = 0;
    for (const size_t at : waiting) {
      PlannedCall& call = step.calls[at];
      bool runs = numbers <= kMostWaiting;
      for (const size_t value : call.reads) {
        const auto maker = makers.find(value);
        runs = runs && (maker == makers.end() || may_run(call, step.calls[maker->second]));
      }
      for (const size_t value : call.reads) {
        const auto maker = makers.find(value);
        if (!runs && maker != makers.end() && step.calls[maker->second].phase == phase && kept.insert(value).second)
          numbers += step.values[value];
      }
      if (runs) call.phase = phase;
      if (!runs) left.push_back(at);
    }
    waiting = std::move(left);
  }
  return phase;
}

double peak_of(const PlannedStep& step, const std::map<size_t, size_t>& ends, const std::vector<size_t>& last_phases) {
  struct Life {
    size_t first = kNoValue, last = 0;
  };
  const std::vector<size_t> owners = owners_of(step, ends);
  std::vector<Life> lives(step.values.size());
  for (const PlannedCall& call : step.calls) {
    for (const size_t value : call.writes) {
      Life& life = lives[owners[value]];
      life.first = std::min(life.first, call.phase);
      life.last = std::max(life.last, call.phase);
    }
    for (const size_t value : call.reads) {
      Life& life = lives[owners[value]];
      life.last = std::max(life.last, call.phase);
    }
  }
  for (const auto& [value, stretch] : ends) {
    Life& life = lives[owners[value]];
    life.last = std::max(life.last, last_phases[stretch]);
  }
  std::map<size_t, double> changes;
  for (size_t value = 0; value < lives.size(); ++value) {
    if (lives[value].first == kNoValue) continue;
    changes[lives[value].first] += step.values[value];
    changes[lives[value].last + 1] -= step.values[value];
  }
  double live = 0, most = 0;
  for (const auto& [phase, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace ltr::elaborate
