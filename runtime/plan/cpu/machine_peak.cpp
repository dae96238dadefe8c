#include "runtime/plan/cpu/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

namespace ltr::plan {

namespace {

/// The shortest of some rounds.
template <class Work>
double seconds_of(int rounds, const Work& work) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < rounds; ++i) {
    const Clock::time_point begin = Clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return least;
}

double measure_products(const kernels::ProductKernel& kernel) {
  constexpr int64_t kRows = 48, kDepth = 256, kTimes = 200;
  const std::vector<float> left(size_t(kRows * kDepth), 0.5F), panel(size_t(kDepth * kernel.width), 0.5F);
  std::vector<float> tiles(left.size());
  std::vector<float> out(size_t(kRows * kernel.width));
  kernels::PanelProduct product;
  product.left = {left.data(), kDepth, 1};
  if (kernel.narrows()) {
    kernel.pack_rows(product.left, kRows, kDepth, tiles.data());
    product.words = kernel.tiles(tiles.data(), kDepth);
  }
  product.rows = kRows;
  product.depth = kDepth;
  product.panel = panel.data();
  product.columns = kernel.width;
  product.out = out.data();
  product.out_row = kernel.width;
  const double seconds = seconds_of(5, [&] {
    for (int64_t i = 0; i < kTimes; ++i) kernel.multiply(product);
  });
  return double(kRows * kDepth * kernel.width * kTimes) / seconds;
}

double measure_bytes() {
  constexpr size_t kBytes = size_t(64) << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 0);
  return 2 * double(kBytes) / seconds_of(3, [&] { std::memcpy(to.data(), from.data(), kBytes); });
}

}  // namespace

MachinePeak measure_peak(const kernels::ProductKernel& kernel) { return {measure_products(kernel), measure_bytes()}; }

}  // namespace ltr::plan
