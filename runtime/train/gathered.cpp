#include "runtime/train/gathered.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/weight_moved.h"
#include "runtime/train/division.h"

namespace ltr {

std::atomic<int> divided_weights = 0;

namespace {

thread_local Division* reading = nullptr;

/// From a weight to its whole values: the gradient of these is the weight's.
struct Gathered : torch::autograd::Node {
  using Node::Node;
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    return std::move(gradients);
  }
};

/// What an op keeps for its backward pass. Of a weight only where it was.
class SavedWhole final : public torch::autograd::SavedVariableHooks {
 public:
  explicit SavedWhole(Division& division) : division_(division) {}
  void call_pack_hook(const at::Tensor& tensor) override {
    unit_ = division_.unit_with(tensor);
    if (!unit_) {
      kept_ = tensor;
      return;
    }
    moves_ = division_.moves_of(*unit_);
    sizes_ = tensor.sizes().vec();
    strides_ = tensor.strides().vec();
    offset_ = tensor.storage_offset();
  }
  at::Tensor call_unpack_hook() override {
    if (!unit_) return kept_;
    if (division_.moves_of(*unit_) != moves_) throw weight_moved();
    const at::Tensor& row = division_.row(*unit_);
    return at::empty({0}, row.options()).set_(row.storage(), offset_, sizes_, strides_);
  }

 private:
  Division& division_;
  at::Tensor kept_;
  Option<size_t> unit_;
  int64_t moves_ = 0;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_ = 0;
};

}  // namespace

GatheredScope::GatheredScope(Division& division)
    : before_(std::exchange(reading, &division)),
      memory_([&division] { return std::make_unique<SavedWhole>(division); }) {
  divided_weights++;
}

GatheredScope::~GatheredScope() {
  reading = before_;
  divided_weights--;
}

Division* read_division() { return reading; }

at::Tensor whole_value(const at::Tensor& weight) {
  const NoGrad no_grad;
  return reading != nullptr && reading->find(weight) != nullptr ? reading->whole(weight) : weight;
}

void set_whole_value(const at::Tensor& weight, const at::Tensor& values) {
  if (reading != nullptr && reading->find(weight) != nullptr) return reading->assign(weight, values);
  weight.copy_(values);
}

Tensor gathered(const Tensor& weight) {
  if (!weight.defined() || reading == nullptr || reading->find(In(weight)) == nullptr) return weight;
  return guarded([&] {
    const In leaf(weight);
    at::Tensor whole = reading->whole(leaf);
    if (c10::GradMode::is_enabled() && leaf->requires_grad()) {
      torch::autograd::set_history(whole, std::make_shared<Gathered>(torch::autograd::collect_next_edges(*leaf)));
    }
    return give(std::move(whole));
  });
}

}  // namespace ltr
