#include "runtime/plan/replays.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"

namespace ltr::plan {

namespace {

/// Below, a copy to each place costs what a call saves.
constexpr size_t kLeast = 3;
/// Nodes that a device may refuse until the graph runs node by node.
constexpr int kMostRefusals = 32;

/// Without what autograd knows of it, which would keep all that led to it; undefined stays undefined.
at::Tensor apart(const Tensor& value) {
  at::Tensor tensor = aten(value);
  return tensor.defined() ? tensor.detach() : tensor;
}

/// A device draws the masks of these by itself; all other numbers are the host's.
bool draws_there(Op op) {
  switch (op) {
    case Op::dropout:
    case Op::dropout2d:
    case Op::attention:
    case Op::dropout_backward:
    case Op::dropout2d_backward:
    case Op::attention_backward: return true;
    default: return false;
  }
}

}  // namespace

Replays::Replays(const Graph& graph, Reference& reference, std::vector<Stretch> stretches,
                 const std::unordered_map<ValueId, Tensor>& kept, const std::vector<std::vector<ValueId>>& deaths)
    : graph_(graph), reference_(reference), stretches_(std::move(stretches)), kept_(kept), deaths_(deaths) {
  for (const Node& node : graph.nodes) is_alone_.push_back(node.site && !draws_there(node.op));
}

bool Replays::is_due() {
  if (phase_ == Phase::Replays && has_moved()) phase_ = Phase::NodeByNode;
  return phase_ == Phase::NodeByNode && has_run_;
}

bool Replays::has_moved() const {
  return std::ranges::any_of(addresses_, [](const auto& one) { return one.first.const_data_ptr() != one.second; });
}

void Replays::capture() {
  // What the device still has to say is not about a capture. It holds what the values of one run took.
  accelerator()->mark()->wait();
  segments_.clear();
  accelerator()->give_back();
  segments_.resize(stretches_.size());
  made_in_.assign(graph_.values.size(), nullptr);
  addresses_.clear();
  // Autograd knows of a weight in which stream it was met first: here it meets another tensor of the same memory.
  std::map<const void*, Tensor> others;
  for (const auto& [id, tensor] : kept_) {
    const at::Tensor held = aten(tensor);
    if (!held.defined()) continue;
    addresses_.emplace_back(held, held.const_data_ptr());
    if (!held.requires_grad()) continue;
    Tensor& other = others[held.unsafeGetTensorImpl()];
    if (!other.defined()) other = give(held.detach().requires_grad_(true));
    reference_.set(id, other);
  }
  // A weight is cast once for all of them, as in a step op by op: its gradient is the sum of narrow ones. No other step finds the casts.
  forget_casts();
  const auto forget = c10::make_scope_exit([] { forget_casts(); });
  for (size_t at = 0; at < stretches_.size(); ++at) {
    const Stretch& stretch = stretches_[at];
    segments_[at].reserve(stretch.end - stretch.begin);  // They are pointed at.
    if (!divide(segments_[at], stretch.begin, stretch.end)) {
      phase_ = Phase::Off;
      segments_.clear();
      return;
    }
    for (const ValueId id : stretch.results) lend(id);
  }
  phase_ = Phase::Replays;
}

void Replays::run(size_t at) {
  const Stretch& stretch = stretches_[at];
  has_run_ = true;
  if (phase_ != Phase::Replays) return reference_.run(stretch.begin, stretch.end);
  for (Segment& segment : segments_[at]) {
    segment.replay ? replay(segment) : reference_.run(segment.begin, segment.end);
  }
}

bool Replays::has_gradient(size_t node) const {
  return graph_.nodes[node].op == Op::loss_gradients || reference_.needs_grad(graph_.nodes[node]);
}

bool Replays::divide(std::vector<Segment>& into, size_t begin, size_t end) {
  while (begin < end) {
    size_t until = begin;
    bool has_gradients = false;
    for (; until < end && is_alone_[until] == is_alone_[begin]; ++until)
      has_gradients = has_gradients || has_gradient(until);
    if (is_alone_[begin] || (until - begin < kLeast && !has_gradients)) {
      run_alone(into, begin, until);
      begin = until;
    } else if (capture(into, begin, until)) {
      begin = until;
    } else if (phase_ == Phase::Off) {  // else the refusal makes the row shorter
      return false;
    }
  }
  return true;
}

void Replays::run_alone(std::vector<Segment>& into, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) each_read(graph_.nodes[i], [&](ValueId id) { lend(id); });
  reference_.run(begin, end);
  into.push_back({.begin = begin, .end = end});
}

void Replays::lend(ValueId id) {
  Segment* const maker = id == kNone ? nullptr : made_in_[id];
  if (maker == nullptr || std::ranges::any_of(maker->places, [&](const auto& place) { return place.first == id; }))
    return;
  if (std::ranges::any_of(maker->results, [&](const auto& result) { return result.first == id; })) return;
  maker->results.emplace_back(id, give(apart(reference_.value(id))));
}

bool Replays::capture(std::vector<Segment>& into, size_t begin, size_t end) {
  const NoGrad no_grad;
  Segment segment{.begin = begin, .end = end};
  std::set<ValueId> made, read;
  size_t draws = 0;
  for (size_t i = begin; i < end; ++i) {
    const Node& node = graph_.nodes[i];
    each_read(node, [&](ValueId id) {
      if (!made.contains(id)) read.insert(id);
    });
    for (const ValueId id : node.results) {
      if (id != kNone) made.insert(id);
    }
    draws += node.site.has_value();
  }
  // The reference lets go of what it needs no more.
  std::vector<std::pair<ValueId, Tensor>> before;
  for (const ValueId id : read) {
    before.emplace_back(id, reference_.value(id));
    if (kept_.contains(id) || made_in_[id] != nullptr || !aten(reference_.value(id)).defined()) continue;
    segment.places.emplace_back(id, In(reference_.value(id))->clone());
  }
  for (size_t i = begin; i < end; ++i) {
    for (const ValueId id : deaths_[i]) {
      if (std::ranges::any_of(segment.places, [&](const auto& place) { return place.first == id; }))
        segment.last.push_back(id);
    }
  }
  for (const auto& [id, place] : segment.places) reference_.set(id, give(place));
  CastsThen casts;
  try {
    segment.replay = accelerator()->capture(draws, [this, begin, end, made] {
      reference_.run(begin, end);
      std::vector<at::Tensor> list;
      for (const ValueId id : made) list.push_back(apart(reference_.value(id)));
      return list;
    });
  } catch (const std::exception& error) {
    for (const auto& [id, value] : before) reference_.set(id, value);
    casts.put_back();
    const size_t refused = std::clamp(reference_.position(), begin, end - 1);
    if (refusal_.empty()) {
      const Str said = error.what();
      const Node& node = graph_.nodes[refused];
      refusal_ = fmt::format("{}:{} {}: {}", node.location.file, node.location.line, name_of(node.op),
                             said.substr(0, said.find('\n')));
    }
    is_alone_[refused] = true;
    // What autograd knows of a node by itself does not go on into a replay.
    if (has_gradient(refused) || ++refusals_ > kMostRefusals) phase_ = Phase::Off;
    return false;
  }
  Segment& kept = into.emplace_back(std::move(segment));
  for (const ValueId id : made) made_in_[id] = &kept;
  for (const auto& [id, place] : kept.places) made_in_[id] = &kept;
  const uint64_t key = DrawScope::here().key;
  kept.replay->run([key](uint64_t site) { return mask_seed({key, site}); });
  return true;
}

void Replays::replay(Segment& segment) {
  const NoGrad no_grad;
  for (auto& [id, place] : segment.places) {
    place.copy_(In(reference_.value(id)), true);
    reference_.set(id, give(place));
  }
  for (const auto& [id, tensor] : segment.results) reference_.set(id, tensor);
  const uint64_t key = DrawScope::here().key;
  segment.replay->run([key](uint64_t site) { return mask_seed({key, site}); });
  for (const ValueId id : segment.last) reference_.set(id, {});
}

Str Replays::text() const {
  if (phase_ == Phase::Off) return "one by one: the device does not capture them (" + refusal_ + ")";
  size_t calls = 0, captured = 0;
  Str alone;
  for (const std::vector<Segment>& stretch : segments_) {
    for (const Segment& segment : stretch) {
      if (segment.replay) {
        ++calls;
        captured += segment.end - segment.begin;
        continue;
      }
      for (size_t i = segment.begin; i < segment.end; ++i) {
        const Node& node = graph_.nodes[i];
        alone += fmt::format("\n  by itself  {}:{}  {}", node.location.file, node.location.line, name_of(node.op));
      }
    }
  }
  if (calls == 0) return "one by one in the first run";
  return fmt::format("{} of them queued by {} call{}", captured, calls, calls == 1 ? "" : "s") + alone;
}

}  // namespace ltr::plan
