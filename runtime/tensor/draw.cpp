#include "runtime/tensor/draw.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <cmath>

#include "runtime/api/error.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/draw_group.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/parallel.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

using c10::BFloat16;
using c10::Half;

/// Groups of elements that one thread takes at once; below twice of it there is one thread.
constexpr int64_t kGrain = 128;

/// Runs `fill(words, begin, count)` for every group of 64 elements: `words` are its random words, `per_element` of 32
/// bits for each, and [begin, begin + count) its elements.
template <size_t per_element, class Fill>
void for_groups(int64_t elements, const Fill& fill) {
  const DrawSite at = next_site();
  constexpr int64_t kGroup = kPhiloxGroup;
  const int64_t groups = (elements + kGroup - 1) / kGroup;
  parallel_for(0, groups, kGrain, [&](int64_t begin, int64_t end) {
    uint32_t words[kPhiloxGroup * per_element];
    for (int64_t group = begin; group < end; group++) {
      philox_words(at.key, at.site, uint64_t(group) * per_element, per_element, words);
      fill(words, group * kGroup, std::min<int64_t>(kGroup, elements - group * kGroup));
    }
  });
}

template <class T>
void uniform(T* out, int64_t count, double low, double high) {
  for_groups<kWordsOf<T>>(
      count, [&](const uint32_t* words, int64_t begin, int64_t n) { uniform_group(words, n, low, high, out + begin); });
}

template <class T>
void normal(T* out, int64_t count, double mean, double std) {
  for_groups<kWordsOf<T>>(
      count, [&](const uint32_t* words, int64_t begin, int64_t n) { normal_group(words, n, mean, std, out + begin); });
}

/// A mask is as large as what it masks, so a device draws its own. LibTorch's generator starts anew for each: the draw
/// hangs on its key and site here, too.
at::Tensor fill_kept_there(at::Tensor out, double keep, double value) {
  const DrawSite at = next_site();
  return out.bernoulli_(keep, accelerator()->generator(at.site, mask_seed(at))).mul_(value);
}

}  // namespace

uint64_t mask_seed(const DrawSite& at) { return random_key(at.key, "mask", {at.site}); }

at::Tensor fill_uniform(at::Tensor out, double low, double high) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "uniform",
                                  [&] { uniform(out.mutable_data_ptr<scalar_t>(), out.numel(), low, high); });
  return out;
}

at::Tensor fill_normal(at::Tensor out, double mean, double std) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "normal",
                                  [&] { normal(out.mutable_data_ptr<scalar_t>(), out.numel(), mean, std); });
  return out;
}

at::Tensor fill_kept(at::Tensor out, double keep, double value) {
  if (!out.is_cpu()) return fill_kept_there(std::move(out), keep, value);
  // Words below the threshold are kept; 2^32 keeps all.
  const auto threshold = uint64_t(std::llround(keep * 0x1.0p32));
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, out.scalar_type(), "kept", [&] {
    auto* data = out.mutable_data_ptr<scalar_t>();
    const auto kept = scalar_t(value), dropped = scalar_t(0);
    for_groups<1>(out.numel(), [&](const uint32_t* words, int64_t begin, int64_t n) {
      if (threshold > UINT32_MAX) {
        std::fill_n(data + begin, n, kept);
        return;
      }
      const auto limit = uint32_t(threshold);
      for (int64_t i = 0; i < n; i++) data[begin + i] = words[i] < limit ? kept : dropped;
    });
  });
  return out;
}

at::Tensor fill_whole(at::Tensor out, int64_t low, int64_t high) {
  if (low >= high) throw error_here(err::value_out_of_range, fmt::format("no int lies in [{}, {})", low, high));
  auto* data = out.mutable_data_ptr<int64_t>();
  for_groups<2>(out.numel(), [&](const uint32_t* words, int64_t begin, int64_t n) {
    whole_group(words, n, low, high, data + begin);
  });
  return out;
}

at::Tensor draw_permutation(int64_t n) {
  const at::Tensor bits = at::empty({n}, at::kLong);
  auto* random = bits.mutable_data_ptr<int64_t>();
  for_groups<2>(n, [&](const uint32_t* words, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; i++) random[begin + i] = int64_t(whole_bits(words, i));
  });
  at::Tensor order = at::empty({n}, at::kLong);
  permute(n, random, order.mutable_data_ptr<int64_t>());
  return order;
}

at::Tensor draw_index(const at::Tensor& weights) {
  const at::Tensor wide = on_host(weights).to(at::kDouble);
  const at::Tensor sums = at::cumsum(wide, -1);
  const at::Tensor total = sums.narrow(-1, sums.size(-1) - 1, 1).contiguous();
  const bool is_sound =
      at::logical_and(at::isfinite(total), total > 0).all().item<bool>() && !(wide < 0).any().item<bool>();
  if (!is_sound) {
    throw error_here(err::value_out_of_range, "probabilities must be finite, not negative, and one of a row positive");
  }
  at::Tensor at = fill_uniform(at::empty(total.sizes(), at::kDouble), 0, 1).mul_(total);
  return at::searchsorted(sums.contiguous(), at, false, true).clamp_max_(sums.size(-1) - 1).to(weights.device());
}

}  // namespace ltr
