#include "runtime/callbacks/grad_norm.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/root_state.h"

namespace ltr {

GradNorm::GradNorm(const Value& call) : per_(text_argument(call, "per", "total")), p_(float_argument(call, "p", 2)) {
}

Str GradNorm::prefix() const { return p_ == 2 ? "grad_norm/" : fmt::format("grad_norm_{}/", p_); }

Str GradNorm::part_of(const Str& path) const {
  if (per_ == "weight") return path;
  const size_t dot = path.rfind('.');
  return per_ == "block" && dot != Str::npos ? path.substr(0, dot) : "";
}

std::vector<Str> GradNorm::names(const Optimizer& optimizer) const {
  std::vector<Str> list;
  for (const Weight& weight : optimizer.weights()) {
    const Str part = part_of(weight.path);
    const Str name = prefix() + optimizer.name() + (part.empty() ? "" : "/" + part);
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
  return list;
}

void GradNorm::measure(const Optimizer& optimizer, Named& values) const {
  std::vector<std::pair<Str, std::vector<at::Tensor>>> parts;
  for (const Weight& weight : optimizer.weights()) {
    const at::Tensor grad = optimizer.own_gradient(aten(weight.tensor));
    const Str part = part_of(weight.path);
    auto place = std::find_if(parts.begin(), parts.end(), [&](const auto& known) { return known.first == part; });
    if (place == parts.end()) place = parts.insert(parts.end(), {part, {}});
    if (grad.defined()) place->second.push_back(at::linalg_vector_norm(grad, p_));
  }
  std::vector<double> all;
  for (const auto& [part, norms] : parts) {
    // The 0-norm counts, and counts add up.
    const auto joined = [&](const at::Tensor& list) { return p_ == 0 ? list.sum() : at::linalg_vector_norm(list, p_); };
    all.push_back(norms.empty() ? 0 : read_number(joined(at::stack(norms))));
  }
  optimizer.join_norms(all, p_);
  for (size_t i = 0; i < parts.size(); i++) {
    const Str& part = parts[i].first;
    values.emplace_back(prefix() + optimizer.name() + (part.empty() ? "" : "/" + part), all[i]);
  }
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
