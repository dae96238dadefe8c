#include "runtime/callbacks/grad_norm.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/root_state.h"

namespace ltr {

GradNorm::GradNorm(const Value& call) : per_(text_argument(call, "per", "total")), p_(float_argument(call, "p", 2)) {}

Str GradNorm::name_of(const Optimizer& optimizer, const Weight& weight) const {
  const Str total = (p_ == 2 ? Str("grad_norm/") : fmt::format("grad_norm_{}/", p_)) + optimizer.name();
  if (per_ == "total") return total;
  const Str path = optimizer.path_of(weight);
  if (per_ == "weight") return total + "/" + path;
  const size_t dot = path.rfind('.');
  return total + "/" + (dot == Str::npos ? "model" : path.substr(0, dot));
}

std::vector<Str> GradNorm::names(const Optimizer& optimizer) const {
  std::vector<Str> list;
  for (const Weight& weight : optimizer.weights()) {
    const Str name = name_of(optimizer, weight);
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
  return list;
}

void GradNorm::measure(const Optimizer& optimizer, Named& values) const {
  const std::vector<Str> names = this->names(optimizer);
  std::vector<std::vector<at::Tensor>> norms(names.size());  // of the weights of each
  for (const Weight& weight : optimizer.weights()) {
    const at::Tensor grad = optimizer.own_gradient(aten(weight.tensor));
    const auto place = std::find(names.begin(), names.end(), name_of(optimizer, weight)) - names.begin();
    if (grad.defined()) norms[size_t(place)].push_back(at::linalg_vector_norm(grad, p_));
  }
  // A device is waited for once, and ranks exchange once, however many norms there are.
  DeviceValues here;
  for (const std::vector<at::Tensor>& list : norms) {
    if (list.empty()) {
      here.keep(0.0);
      continue;
    }
    // The 0-norm counts, and counts add up.
    const at::Tensor all = at::stack(list);
    here.keep(p_ == 0 ? all.sum() : at::linalg_vector_norm(all, p_));
  }
  const std::span<const double> read = here.read();
  std::vector<double> joined(read.begin(), read.end());
  optimizer.join_norms(joined, p_);
  for (size_t i = 0; i < names.size(); i++) values.emplace_back(names[i], joined[i]);
}

namespace {

class GradNormListener : public Listener {
 public:
  GradNormListener(const Value& call, const FitView& view) : norm_(call), view_(view) {}
  uint32_t interests() const override { return kBeforeClip; }
  void columns(std::vector<Str>& names) const override {
    for (const auto& optimizer : view_.request.root.state().optimizers) {
      if (!measures(*optimizer)) continue;
      for (Str& name : norm_.names(*optimizer)) names.push_back(std::move(name));
    }
  }
  void before_clip(const Optimizer& optimizer, Named& values) override {
    if (measures(optimizer)) norm_.measure(optimizer, values);
  }

 private:
  // Clipping computes the norm of everything anyway, and records it.
  bool measures(const Optimizer& optimizer) const { return !(norm_.is_total() && optimizer.clips_norm()); }
  GradNorm norm_;
  FitView view_;
};

}  // namespace

ListenerPtr make_grad_norm(const Value& call, const FitView& view) {
  return std::make_unique<GradNormListener>(call, view);
}

}  // namespace ltr
