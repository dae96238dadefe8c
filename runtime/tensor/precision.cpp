#include "runtime/tensor/precision.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "runtime/api/error.h"
#include "runtime/tensor/device.h"

namespace ltr {

namespace {

Precision run_precision;
Precision wide_precision;  // what narrows of it does not
thread_local bool is_wide = false;
thread_local at::ScalarType thread_policy = at::ScalarType::Undefined;
// Casts of leaves, keyed by the leaf. They keep their graph, which saves no tensors, so several backwards may use it.
thread_local std::unordered_map<c10::TensorImpl*, at::Tensor> casts;

}  // namespace

void set_precision(const Str& name) {
  if (name == "f32" || name == "auto" || name.empty()) {
    run_precision = {};
  } else if (name == "f64") {
    run_precision = {at::kDouble, at::kDouble, false};
  } else if (name == "bf16") {
    run_precision = {at::kFloat, at::kBFloat16, true};
  } else if (name == "bf16_pure") {
    run_precision = {at::kBFloat16, at::kBFloat16, false};
  } else if (needs_gpu(name) && accelerator() == nullptr) {
    const char* const nearest = find_precision(name)->on_cpu;
    throw with_help(
        error_here(err::topology_unavailable,
                   fmt::format("precision {} needs a GPU, and this run computes on the CPU", name)),
        fmt::format("f64, f32, bf16 and bf16_pure are there on a CPU; {} is nearest: --set topology.precision={}",
                    nearest, nearest));
  } else if (name == "f16") {
    run_precision = {at::kFloat, at::kHalf, true, true};
  } else if (name == "tf32") {
    run_precision = {};  // The units are switched on with the device's modes.
  } else {
    throw with_help(error_here(err::topology_unavailable, fmt::format("no precision {}", name)),
                    "topology.precision is f64, f32, tf32, bf16, f16 or bf16_pure; tf32 and f16 need a GPU");
  }
  wide_precision = run_precision;
  wide_precision.compute = run_precision.policy;
  wide_precision.narrows = false;
}

const Precision& precision() { return is_wide ? wide_precision : run_precision; }

at::ScalarType policy_type() {
  return thread_policy == at::ScalarType::Undefined ? run_precision.policy : thread_policy;
}

PolicyScope::PolicyScope(at::ScalarType type) : before_(std::exchange(thread_policy, type)) {}

PolicyScope::~PolicyScope() { thread_policy = before_; }

WideScope::WideScope(bool is_on) : before_(std::exchange(is_wide, is_wide || is_on)) {}

WideScope::~WideScope() { is_wide = before_; }

at::Tensor cast_narrow(const at::Tensor& x) {
  if (!x.is_floating_point() || x.scalar_type() == run_precision.compute) return x;
  if (!x.requires_grad() || !x.is_leaf() || !c10::GradMode::is_enabled()) return x.to(run_precision.compute);
  at::Tensor& cast = casts[x.unsafeGetTensorImpl()];
  if (!cast.defined()) cast = x.to(run_precision.compute);
  return cast;
}

void forget_casts() {
  if (!casts.empty()) casts.clear();
}

CastsThen::CastsThen() : casts_(casts) {}

void CastsThen::put_back() { casts = std::move(casts_); }

}  // namespace ltr
