#include "dsl/elaborate/timeline.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ltr::elaborate {

namespace {

constexpr const char* kNames[] = {
#define LTR_STRATEGY(Enumerator, name) #name,
    LTR_STRATEGIES(LTR_STRATEGY, )
#undef LTR_STRATEGY
};

/// The line of the messages: each waits for what it needs and for the one before.
struct Wire {
  double free_s = 0;

  double send(double ready_s, double duration_s) { return free_s = std::max(free_s, ready_s) + duration_s; }
};

class Timeline {
 public:
  Timeline(const Work& work, const Layout& layout, const Cluster& cluster)
      : work_(work),
        layout_(layout),
        device_(cluster.shared_by(layout.on_node())),
        word_s_(cluster.within.latency_s),
        parts_(make_ring(cluster, layout.fsdp, 1, layout.per_node)),
        copies_(make_ring(cluster, layout.replica, layout.fsdp, layout.per_node)) {}

  double run() {
    const bool gathers = layout_.strategy == Strategy::Fsdp || layout_.strategy == Strategy::Hsdp;
    for (int64_t batch = 0; batch < work_.accumulate; ++batch) {
      const bool is_last = batch + 1 == work_.accumulate;
      if (gathers) {
        gathered_batch(is_last);
      } else {
        whole_batch(is_last);
      }
    }
    if (layout_.ranks() > 1) now_ += double(work_.passes) * meeting_s();
    return gathers ? now_ + work_.update_s / double(layout_.fsdp) : update();
  }

 private:
  /// Ranks agree on a backward pass while it goes on. What carries their words waits for a core, until the pass ends at the latest.
  double meeting_s() const {
    constexpr double kWords = 10;
    double backward_s = 0;
    for (const Piece& piece : work_.backward) backward_s += piece.seconds;
    return std::min(device_.meet_s, kWords * word_s_ + backward_s / double(std::max<int64_t>(work_.passes, 1)));
  }

  /// Every rank has all weights: gradients travel in buckets while the backward pass goes on.
  void whole_batch(bool is_last) {
    now_ += work_.forward_s();
    double filled = 0;
    for (size_t i = 0; i < work_.backward.size(); ++i) {
      now_ += work_.backward[i].seconds;
      filled += work_.backward[i].gradient_bytes;
      const bool is_end = i + 1 == work_.backward.size();
      if (!is_last || layout_.ranks() == 1 || filled == 0 || (filled < work_.bucket_bytes && !is_end)) continue;
      send_bucket(filled * work_.wire);
      filled = 0;
    }
    if (is_last) now_ = std::max(now_, wire_.free_s);
  }

  void send_bucket(double bytes) {
    if (layout_.strategy != Strategy::Ddp) {
      wire_.send(now_, scatter_s(bytes));
    } else if (device_.is_core() && layout_.ranks() <= layout_.per_node) {
      // The thread that computes sums, too.
      now_ += shared_sum_s(bytes, layout_.ranks(), device_, word_s_);
    } else {
      wire_.send(now_, all_reduce_s(bytes, copies_));
    }
  }

  /// Between CPUs Gloo sums the whole on every rank, of which each keeps its part.
  double scatter_s(double bytes) const {
    return device_.is_core() ? all_reduce_s(bytes, parts_) : reduce_scatter_s(bytes, parts_);
  }

  /// With divided state each rank updates its part, then all gather the weights.
  double update() {
    if (layout_.strategy != Strategy::Zero1 && layout_.strategy != Strategy::Zero2) return now_ + work_.update_s;
    double bytes = work_.rest.weight_bytes;
    for (const Unit& unit : work_.units) bytes += unit.weight_bytes;
    return now_ + work_.update_s / double(layout_.fsdp) + all_gather_s(bytes, parts_);
  }

  /// Weights are gathered block by block, each while the one before it computes, and again on the way back.
  void gathered_batch(bool is_last) {
    now_ = wire_.send(now_, all_gather_s(work_.rest.weight_bytes, parts_)) + work_.rest.forward_s;
    pass(false, is_last);
    now_ += work_.rest.backward_s;
    pass(true, is_last);
    if (is_last) reduce(work_.rest);
    if (is_last) now_ = std::max(now_, wire_.free_s);
  }

  void pass(bool is_backward, bool is_last) {
    const size_t count = work_.units.size();
    const auto unit = [&](size_t i) -> const Unit& { return work_.units[is_backward ? count - 1 - i : i]; };
    double gathered = count == 0 ? 0 : wire_.send(now_, all_gather_s(unit(0).weight_bytes, parts_));
    for (size_t i = 0; i < count; ++i) {
      now_ = std::max(now_, gathered);
      if (i + 1 < count) gathered = wire_.send(now_, all_gather_s(unit(i + 1).weight_bytes, parts_));
      now_ += is_backward ? unit(i).backward_s : unit(i).forward_s;
      if (is_backward && is_last) reduce(unit(i));
    }
  }

  void reduce(const Unit& unit) {
    const double bytes = unit.gradient_bytes * work_.wire;
    wire_.send(now_, scatter_s(bytes));
    wire_.send(now_, all_reduce_s(bytes / double(layout_.fsdp), copies_));
  }

  const Work& work_;
  const Layout& layout_;
  const Device device_;
  const double word_s_;  ///< of one word to another rank of the node
  const Ring parts_;
  const Ring copies_;
  Wire wire_;
  double now_ = 0;
};

}  // namespace

const char* to_text(Strategy strategy) { return kNames[size_t(strategy)]; }

std::optional<Strategy> find_strategy(const std::string& name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? std::nullopt : std::optional(Strategy(found - kNames));
}

double Work::forward_s() const {
  return std::accumulate(units.begin(), units.end(), rest.forward_s,
                         [](double sum, const Unit& unit) { return sum + unit.forward_s; });
}

double step_s(const Work& work, const Layout& layout, const Cluster& cluster) {
  return Timeline(work, layout, cluster).run();
}

}  // namespace ltr::elaborate
