#pragma once

// For functions that LibTorch has in f32 and f64 alone.

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"

namespace ltr {

/// Takes tensors of narrower types as f32, and gives what comes of them back in the type of the first.
class Exact {
 public:
  at::Tensor operator()(const Tensor& tensor) {
    const at::Tensor x = wide(In(tensor));
    if (!type_) type_ = x.scalar_type();
    return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x;
  }
  Tensor back(const at::Tensor& result) const { return give(result.to(type_.value_or(result.scalar_type()))); }

 private:
  std::optional<at::ScalarType> type_;
};

/// `function` of such tensors: what it gives, one or several.
template <class Function, class... Given>
auto exactly(const Function& function, const Given&... given) {
  return guarded([&] {
    Exact exact;
    const std::array<at::Tensor, sizeof...(Given)> taken{exact(given)...};
    const auto result = std::apply(function, taken);
    if constexpr (std::is_same_v<decltype(result), const at::Tensor>) {
      return exact.back(result);
    } else {
      return std::apply([&](const auto&... each) { return std::tuple(exact.back(each)...); }, result);
    }
  });
}

}  // namespace ltr
