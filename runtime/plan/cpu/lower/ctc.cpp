// Connectionist temporal classification (Graves et al. 2006): the probability of all ways along which moments give a target, with blanks
// between.

#include <algorithm>
#include <cmath>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// log(Σ e^x) of what may be -infinity.
double log_sum(std::initializer_list<double> terms) {
  const double most = std::max(terms);
  if (most == -INFINITY) return most;
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - most);
  return std::log(sum) + most;
}

/// What the loss takes: log_probs [moments, records, classes], targets [records, most].
struct Ctc {
  Layout log_probs, targets, moments_of, targets_of;
  int64_t moments = 0, records = 0, classes = 0, most = 0;
  int64_t blank = 0;
  bool is_zero_for_infinity = false;

  /// Of the way through a target with its blanks, and for all moments.
  int64_t states() const { return 2 * most + 1; }
};

/// A record: its target, with blanks in front, between and behind.
struct CtcRecord {
  const float* log_probs;  ///< of the first moment; the next one is `step` further
  int64_t step;
  const int64_t* target;
  int64_t length, moments, blank;

  int64_t states() const { return 2 * length + 1; }
  int64_t label(int64_t state) const { return state % 2 == 0 ? blank : target[state / 2]; }
  double log_prob(int64_t moment, int64_t state) const { return double(log_probs[moment * step + label(state)]); }
  /// Whether the way may come here from two states before: over a blank between labels that differ.
  bool skips(int64_t state) const { return state % 2 == 1 && state > 1 && label(state) != label(state - 2); }
};

/// Fails where the batch says what cannot be.
Option<CtcRecord> record_of(const Ctc& of, Memory memory, int64_t at) {
  const CtcRecord record{floats(memory, of.log_probs) + at * of.classes,
                         of.records * of.classes,
                         longs(memory, of.targets) + at * of.most,
                         longs(memory, of.targets_of)[at],
                         longs(memory, of.moments_of)[at],
                         of.blank};
  if (record.length < 0 || record.length > of.most || record.moments < 0 || record.moments > of.moments)
    return std::nullopt;
  for (int64_t i = 0; i < record.length; ++i) {
    if (record.target[i] < 0 || record.target[i] >= of.classes) return std::nullopt;
  }
  return record;
}

/// ways[moment][state]: the log of the probability of all ways that are there then. Gives that of all that reach the end.
double forward_ways(const CtcRecord& record, int64_t width, double* ways) {
  if (record.moments == 0) return record.length == 0 ? 0 : -INFINITY;
  for (int64_t moment = 0; moment < record.moments; ++moment) {
    double* const now = ways + moment * width;
    const double* const before = now - width;
    for (int64_t s = 0; s < record.states(); ++s) {
      if (moment == 0) {
        now[s] = s < 2 ? record.log_prob(0, s) : -INFINITY;
        continue;
      }
      const double sum =
          log_sum({before[s], s > 0 ? before[s - 1] : -INFINITY, record.skips(s) ? before[s - 2] : -INFINITY});
      now[s] = sum + record.log_prob(moment, s);
    }
  }
  const double* const last = ways + (record.moments - 1) * width;
  return log_sum({last[record.states() - 1], record.length > 0 ? last[record.states() - 2] : -INFINITY});
}

/// Likewise of the ways from there to the end, which `each(moment, state, ways)` is told; `now` and `next` hold a moment.
template <class Each>
void each_way_back(const CtcRecord& record, double* now, double* next, const Each& each) {
  const int64_t states = record.states();
  for (int64_t moment = record.moments; moment-- > 0;) {
    for (int64_t s = 0; s < states; ++s) {
      if (moment == record.moments - 1) {
        now[s] = s >= states - 2 ? record.log_prob(moment, s) : -INFINITY;
      } else {
        const double sum = log_sum({next[s], s + 1 < states ? next[s + 1] : -INFINITY,
                                    s + 2 < states && record.skips(s + 2) ? next[s + 2] : -INFINITY});
        now[s] = sum + record.log_prob(moment, s);
      }
      each(moment, s, now[s]);
    }
    std::swap(now, next);
  }
}

/// From argument `first` on; nothing where there is no kernel for it.
Option<Ctc> ctc_of(Lowering& to, size_t first) {
  const ValueId log_probs = to.argument(first), targets = to.argument(first + 1);
  if (!to.is_f32({log_probs, to.result()}) || to.layout(log_probs).sizes.size() != 3) return std::nullopt;
  for (size_t at = first + 1; at < first + 4; ++at) {
    if (to.dtype(to.argument(at)) != DType::I64 || !to.layout(to.argument(at)).is_dense()) return std::nullopt;
  }
  if (to.layout(targets).sizes.size() != 2 || to.layout(log_probs).count() == 0) return std::nullopt;
  Ctc of;
  of.log_probs = to.side_by_side(to.layout(log_probs), DType::F32);
  of.targets = to.layout(targets);
  of.moments_of = to.layout(to.argument(first + 2));
  of.targets_of = to.layout(to.argument(first + 3));
  of.moments = of.log_probs.sizes[0];
  of.records = of.log_probs.sizes[1];
  of.classes = of.log_probs.sizes[2];
  of.most = of.targets.sizes[1];
  of.blank = to.node().host<int64_t>(first + 4);
  of.is_zero_for_infinity = to.node().host<bool>(first + 5);
  if (of.moments_of.count() != of.records || of.targets_of.count() != of.records || of.blank < 0 ||
      of.blank >= of.classes)
    return std::nullopt;
  return of;
}

std::vector<Touched> reads_of_ctc(const Ctc& of) {
  return {
      {of.log_probs.root, false}, {of.targets.root, false}, {of.moments_of.root, false}, {of.targets_of.root, false}};
}

/// -log p of each record.
bool ctc_each(Lowering& to) {
  const Option<Ctc> found = ctc_of(to, 0);
  if (!found) return false;
  const Ctc& of = *found;
  const Layout costs = to.layout(to.result());
  call(
      to, Split::Shares, reads_of_ctc(of), {{costs.root, false}}, named(to, of.log_probs),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = part.share(of.records);
        for (int64_t r = begin; r < end; ++r) {
          const Option<CtcRecord> record = record_of(of, memory, r);
          if (!record) return part.fails();
          const double log_prob = forward_ways(*record, of.states(), reinterpret_cast<double*>(part.scratch));
          const bool is_none = log_prob == -INFINITY && of.is_zero_for_infinity;
          floats(memory, costs)[r * costs.strides[0]] = is_none ? 0.0F : float(-log_prob);
        }
      },
      of.moments * of.states() * int64_t(sizeof(double)));
  return true;
}

/// By log_probs: e^log_prob, less what of all ways goes through a class then. LibTorch's gradient is that of the logits behind a
/// log_softmax, too.
bool ctc_backward(Lowering& to) {
  const Option<Ctc> found = ctc_of(to, 1);
  if (!found || !to.is_f32({to.argument(0)})) return false;
  const Ctc& of = *found;
  const Layout gradient = to.layout(to.argument(0)), out = to.layout(to.result());
  std::vector<Touched> reads = reads_of_ctc(of);
  reads.push_back({gradient.root, false});
  const int64_t ways = of.moments * of.states();
  call(
      to, Split::Shares, std::move(reads), {{out.root, false}}, named(to, of.log_probs),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = part.share(of.records);
        auto* const forward = reinterpret_cast<double*>(part.scratch);
        double *const now = forward + ways, *const next = now + of.states(), *const shares = next + of.states();
        for (int64_t r = begin; r < end; ++r) {
          const Option<CtcRecord> record = record_of(of, memory, r);
          if (!record) return part.fails();
          const double log_prob = forward_ways(*record, of.states(), forward);
          float* const into = floats(memory, out) + r * of.classes;
          const bool is_none = log_prob == -INFINITY && of.is_zero_for_infinity;
          for (int64_t t = 0; t < of.moments; ++t) {
            if (t >= record->moments || is_none) std::fill_n(into + t * record->step, of.classes, 0.0F);
          }
          if (is_none) continue;
          // Of none that reach the end there are no shares.
          const double nothing = log_prob == -INFINITY ? NAN : 0;
          const auto scale = double(floats(memory, gradient)[r * gradient.strides[0]]);
          each_way_back(*record, now, next, [&](int64_t moment, int64_t state, double back) {
            if (state == 0) std::fill_n(shares, of.classes, nothing);
            // Both ways hold the moment's own probability.
            const double both = forward[moment * of.states() + state] + back - record->log_prob(moment, state);
            if (both > -INFINITY) shares[record->label(state)] += std::exp(both - log_prob);
            if (state + 1 < record->states()) return;
            float* const slopes = into + moment * record->step;
            const float* const given = record->log_probs + moment * record->step;
            for (int64_t c = 0; c < of.classes; ++c)
              slopes[c] = float((std::exp(double(given[c])) - shares[c]) * scale);
          });
        }
      },
      (ways + 2 * of.states() + of.classes) * int64_t(sizeof(double)));
  return true;
}

}  // namespace

bool lower_ctc(Lowering& to) {
  switch (to.node().op) {
    case Op::ctc_each: return ctc_each(to);
    case Op::ctc_backward: return ctc_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
