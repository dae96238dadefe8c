// `recompute at Layer`: of such a block the graph keeps its arguments alone. The first value that the backward pass asks for
// makes it compute all of them again, under what the first pass ran under: so both give the same bits.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/COW.h>
#include <c10/util/hash.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/joint_norm.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/step_watch.h"
#include "runtime/tensor/weight_moved.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

using Hooks = torch::autograd::SavedVariableHooks;

/// A block of this kind is under way in this thread: what it calls belongs to it.
thread_local bool is_under_way = false;

/// While it lives, one is.
struct UnderWay {
  bool before = std::exchange(is_under_way, true);
  UnderWay() = default;
  ~UnderWay() { is_under_way = before; }
  UnderWay(const UnderWay&) = delete;
};

void gather_below(const ScopeState& scope, RecomputedBlock& block) {
  for (const ScopeState::Local& local : scope.locals) {
    const Entry& entry = scope.root->entries[local.entry];
    (entry.is_weight ? block.weights : block.buffers).push_back(aten(entry.tensor));
  }
  for (const ScopeState* child : scope.children) gather_below(*child, block);
}

/// What tells a kept value from another.
size_t form_of(const at::Tensor& tensor) { return c10::get_hash(tensor.sizes(), int(tensor.scalar_type())); }

/// What a weight was when the block ran.
struct WeightThen {
  int64_t version;
  bool requires_grad;
};

/// What a buffer was then.
struct BufferThen {
  int64_t version;
  at::Tensor values;
};

/// The values of `buffer` now. They lie in its memory until somebody writes there: most buffers are never written.
at::Tensor kept(const at::Tensor& buffer) {
  const c10::StorageImpl& storage = *buffer.storage().unsafeGetStorageImpl();
  const bool can_share =
      c10::impl::cow::is_cow_data_ptr(storage.data_ptr()) || c10::impl::cow::has_simple_data_ptr(storage);
  return can_share ? at::_lazy_clone(buffer) : buffer.clone();
}

/// Weights and buffers as they were then, while it lives. Who compares versions sees nothing of it.
class BlockThen {
 public:
  BlockThen(const RecomputedBlock& block, const std::vector<WeightThen>& weights,
            const std::vector<BufferThen>& buffers)
      : block_(block) {
    for (size_t i = 0; i < weights.size(); i++) {
      needed_gradient_.push_back(block.weights[i].requires_grad());
      block.weights[i].set_requires_grad(weights[i].requires_grad);
    }
    const NoGrad no_grad;
    for (size_t i = 0; i < buffers.size(); i++) {
      const at::Tensor& buffer = block.buffers[i];
      now_.push_back({buffer._version(), kept(buffer)});
      if (buffer._version() != buffers[i].version) buffer.copy_(buffers[i].values);
    }
  }
  ~BlockThen() {
    const NoGrad no_grad;
    for (size_t i = 0; i < needed_gradient_.size(); i++) block_.weights[i].set_requires_grad(needed_gradient_[i]);
    for (size_t i = 0; i < now_.size(); i++) {
      const at::Tensor& buffer = block_.buffers[i];
      if (buffer._version() == now_[i].version) continue;
      buffer.copy_(now_[i].values);
      c10::VariableVersion version = buffer.unsafeGetTensorImpl()->version_counter();
      version.set_version(now_[i].version);
    }
  }
  BlockThen(const BlockThen&) = delete;
  BlockThen& operator=(const BlockThen&) = delete;

 private:
  const RecomputedBlock& block_;
  std::vector<bool> needed_gradient_;
  std::vector<BufferThen> now_;
};

/// One call of a block.
class Segment {
 public:
  Segment(const RecomputedBlock& block, std::function<void()> again)
      : block_(block),
        again_(std::move(again)),
        location_(current_location()),
        is_training_(is_training()),
        draws_(DrawScope::here()),
        policy_(policy_type()),
        device_(run_device()),
        joint_(joint_sum()),
        division_(read_division()) {
    const NoGrad no_grad;
    for (const at::Tensor& weight : block.weights) weights_.push_back({weight._version(), weight.requires_grad()});
    for (const at::Tensor& buffer : block.buffers) buffers_.push_back({buffer._version(), kept(buffer)});
  }

  /// The graph asked to keep `value`: its number.
  size_t add(const at::Tensor& value) {
    forms_.push_back(form_of(value));
    return forms_.size() - 1;
  }
  /// The value of that number, which is then forgotten: a backward pass asks for each once.
  at::Tensor take(size_t number) {
    if (values_.empty() || !values_[number].defined()) compute_again();
    return std::exchange(values_[number], {});
  }

 private:
  void compute_again();

  const RecomputedBlock& block_;
  std::function<void()> again_;
  Location location_;
  bool is_training_;
  DrawSite draws_;
  at::ScalarType policy_;
  c10::Device device_;
  const JointSum* joint_;
  Division* division_;
  std::vector<WeightThen> weights_;
  std::vector<BufferThen> buffers_;
  std::vector<size_t> forms_;
  std::vector<at::Tensor> values_;
};

/// A value that is not kept: its number.
class Numbered final : public Hooks {
 public:
  explicit Numbered(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {}
  void call_pack_hook(const at::Tensor& tensor) override { number_ = segment_->add(tensor); }
  at::Tensor call_unpack_hook() override { return segment_->take(number_); }

 private:
  std::shared_ptr<Segment> segment_;
  size_t number_ = 0;
};

/// A value of the pass that computes again: the graph of that one is thrown away.
class Collected final : public Hooks {
 public:
  explicit Collected(std::vector<at::Tensor>& values) : values_(values) {}
  void call_pack_hook(const at::Tensor& tensor) override { values_.push_back(tensor.detach()); }
  at::Tensor call_unpack_hook() override { return {}; }

 private:
  std::vector<at::Tensor>& values_;
};

void Segment::compute_again() {
  for (size_t i = 0; i < weights_.size(); i++) {
    if (block_.weights[i]._version() != weights_[i].version) throw weight_moved();
  }
  values_.clear();
  values_.reserve(forms_.size());
  {
    const BlockThen block(block_, weights_, buffers_);
    const ModeScope mode(is_training_, true);
    const DrawScope draws(draws_);
    const PolicyScope policy(policy_);
    const DeviceScope device(device_);
    const JointSumScope joint(joint_);
    std::optional<GatheredScope> whole;  // in another thread of the backward pass there is none
    if (division_ != nullptr && read_division() != division_) whole.emplace(*division_);
    const GraphMemory memory([this] { return std::make_unique<Collected>(values_); });
    const UnderWay under_way;
    const Location here = current_location();
    again_();
    at(here);
  }
  bool is_same = values_.size() == forms_.size();
  for (size_t i = 0; is_same && i < values_.size(); i++) is_same = form_of(values_[i]) == forms_[i];
  if (!is_same)
    throw error_at(location_, err::shape_check_failed,
                   block_.kind + " computed other shapes when the backward pass ran it again");
}

}  // namespace

/// The first pass.
struct Recomputed::Call {
  UnderWay under_way;
  GraphMemory memory;
};

Recomputed::Recomputed(const Scope& place, std::shared_ptr<void> again, void (*call)(void* again)) {
  const auto segment = std::make_shared<Segment>(*place.state()->recomputed, [again, call] { call(again.get()); });
  call_.reset(new Call{{}, GraphMemory([segment] { return std::make_unique<Numbered>(segment); })});
  if (StepWatch* watch = StepWatch::here()) watch->begin_again();
}

Recomputed::~Recomputed() {
  if (StepWatch* watch = StepWatch::here()) watch->end_again();
}

bool Scope::is_recomputed() const {
  return state_->recomputed != nullptr && !is_under_way && c10::GradMode::is_enabled();
}

bool ModelRoot::recompute_at(const Str& kind) {
  bool is_found = false;
  for (ScopeState& scope : state_->scopes) {
    if (scope.kind != kind) continue;
    is_found = true;
    scope.recomputed = std::make_unique<RecomputedBlock>();
    scope.recomputed->kind = kind;
    gather_below(scope, *scope.recomputed);
  }
  return is_found;
}

}  // namespace ltr
