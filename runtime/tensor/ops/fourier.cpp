#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/exact.h"

namespace ltr {

namespace {

/// Pairs in the last axis as complex numbers, and back.
at::Tensor complex_of(const at::Tensor& pairs) { return at::view_as_complex(pairs.contiguous()); }
at::Tensor pairs_of(const at::Tensor& numbers) { return at::view_as_real(numbers.resolve_conj()); }

constexpr std::array<int64_t, 2> kRowsAndColumns{-2, -1};

}  // namespace

Tensor fft(const Tensor& x, const Str& norm) {
  return exactly([&](const at::Tensor& p) { return pairs_of(at::fft_fft(complex_of(p), std::nullopt, -1, norm)); }, x);
}

Tensor ifft(const Tensor& x, const Str& norm) {
  return exactly([&](const at::Tensor& p) { return pairs_of(at::fft_ifft(complex_of(p), std::nullopt, -1, norm)); }, x);
}

Tensor rfft(const Tensor& x, const Str& norm) {
  return exactly([&](const at::Tensor& line) { return pairs_of(at::fft_rfft(line, std::nullopt, -1, norm)); }, x);
}

Tensor irfft(const Tensor& x, int64_t n, const Str& norm) {
  return exactly([&](const at::Tensor& p) { return at::fft_irfft(complex_of(p), n, -1, norm); }, x);
}

Tensor fft2(const Tensor& x, const Str& norm) {
  return exactly(
      [&](const at::Tensor& p) { return pairs_of(at::fft_fft2(complex_of(p), std::nullopt, kRowsAndColumns, norm)); },
      x);
}

Tensor ifft2(const Tensor& x, const Str& norm) {
  return exactly(
      [&](const at::Tensor& p) { return pairs_of(at::fft_ifft2(complex_of(p), std::nullopt, kRowsAndColumns, norm)); },
      x);
}

}  // namespace ltr
