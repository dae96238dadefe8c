#include "runtime/train/kept_metrics.h"

#include <ATen/ATen.h>

#include "runtime/tensor/handle.h"

namespace ltr {

KeptMetrics::KeptMetrics(Model& model, int64_t stream) {
  for (const Model::MetricMember& member : model.metrics) {
    for (const Metric::State& state : member.of(model, stream).states())
      before_.emplace_back(state.tensor, guarded([&] { return give(In(*state.tensor)->clone()); }));
  }
}

KeptMetrics::~KeptMetrics() {
  for (auto& [state, values] : before_) *state = std::move(values);
}

}  // namespace ltr
