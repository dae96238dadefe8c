#include "runtime/callbacks/grad_norm.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/callbacks/arguments.h"
#include "runtime/tensor/handle.h"

namespace ltr {

GradNorm::GradNorm(const Value& call) : per_(text_argument(call, "per", "total")), p_(float_argument(call, "p", 2)) {
  if (!(p_ > 0)) throw error_at(call.location, err::out_of_range, "callbacks.GradNorm.p", p_, "p > 0");
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
    const at::Tensor& grad = In(weight.tensor)->grad();
    const Str part = part_of(weight.path);
    auto place = std::find_if(parts.begin(), parts.end(), [&](const auto& known) { return known.first == part; });
    if (place == parts.end()) place = parts.insert(parts.end(), {part, {}});
    if (grad.defined()) place->second.push_back(at::linalg_vector_norm(grad, p_));
  }
  for (const auto& [part, norms] : parts) {
    const double value = norms.empty() ? 0 : at::linalg_vector_norm(at::stack(norms), p_).item<double>();
    values.emplace_back(prefix() + optimizer.name() + (part.empty() ? "" : "/" + part), value);
  }
}

}  // namespace ltr
