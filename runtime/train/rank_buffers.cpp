#include "runtime/train/rank_buffers.h"

#include <ATen/ATen.h>

#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

namespace ltr {

RankBuffers::RankBuffers(const RootState& root, const Ranks& ranks, bool joint_norms) : ranks_(ranks) {
  if (ranks.world() == 1) return;
  const auto is_of_batch_norm = [&](const Entry& entry) {
    const std::vector<WeightPlace> places = root.places_of(entry.tensor);
    return !places.empty() && places[0].kind.starts_with("BatchNorm");
  };
  for (const Entry& entry : root.buffers) {
    // What batch norms keep over all ranks is the same on each; a weight that is not trained is written by nobody.
    const bool is_same = entry.is_weight || (joint_norms && is_of_batch_norm(entry));
    if (!is_same) buffers_.push_back({aten(entry.tensor), In(entry.tensor)->_version()});
  }
}

void RankBuffers::share() {
  if (buffers_.empty()) return;
  std::vector<double> is_written;
  for (const Buffer& buffer : buffers_) is_written.push_back(buffer.tensor._version() != buffer.version ? 1 : 0);
  ranks_.most(is_written);
  std::vector<at::Tensor> written;
  for (size_t i = 0; i < buffers_.size(); i++) {
    if (is_written[i] > 0) written.push_back(buffers_[i].tensor.detach());
  }
  if (!written.empty()) ranks_.take_from_first(written);
  for (Buffer& buffer : buffers_) buffer.version = buffer.tensor._version();
}

}  // namespace ltr
