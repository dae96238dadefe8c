#include "runtime/tensor/product.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace ltr {

namespace {

using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                          c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);

/// oneDNN's product, where it is worth asking for: on AMD's processors MKL takes a kernel of half the vector width, and
/// needs twice the time. Null elsewhere.
const c10::TypedOperatorHandle<Linear>* wide_product() {
  static const auto handle = []() -> std::optional<c10::TypedOperatorHandle<Linear>> {
#if defined(__x86_64__)
    const bool is_faster = __builtin_cpu_is("amd") && at::get_cpu_capability() == "AVX512";
    if (!is_faster || !at::hasMKLDNN()) return std::nullopt;
    const auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (found) return found->typed<Linear>();
#endif
    return std::nullopt;
  }();
  return handle ? &*handle : nullptr;
}

/// Below this oneDNN spends more on finding its kernel than the kernel takes.
constexpr int64_t kLeastWork = 2'000'000;

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const bool is_large = a.size(0) * a.size(1) * b.size(0) >= kLeastWork;
  if (is_large && a.is_cpu() && a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat) {
    if (const auto* wide = wide_product()) {
      return wide->call(a, b, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt, "none",
                        c10::List<std::optional<at::Scalar>>(), std::nullopt);
    }
  }
  return bias.defined() ? at::addmm(bias, a, b.t()) : at::mm(a, b.t());
}

}  // namespace ltr
