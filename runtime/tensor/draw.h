#pragma once

// Tensors of random numbers, for ops. Each call is one site; the elements of a tensor are counted in the order of its
// memory, so their values are the same for any number of threads.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ltr {

/// A key, and which draw behind it.
struct DrawSite {
  uint64_t key;
  uint64_t site;
};
/// The site of this thread's next draw.
DrawSite next_site();

/// This thread draws from `site` on while it lives; then from where it was.
class DrawScope {
 public:
  explicit DrawScope(DrawSite site);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

  /// The site that the next draw would have.
  static DrawSite here();
  /// It has `site` of the same key from now on.
  static void go_on_at(uint64_t site);

 private:
  DrawSite before_;
};

/// Fill a new, contiguous tensor in host memory and give it back.
/// Uniform in [low, high): 24 random bits an element, 53 in f64.
at::Tensor fill_uniform(at::Tensor out, double low, double high);
/// Normal, by Box and Muller (1958).
at::Tensor fill_normal(at::Tensor out, double mean, double std);
/// `value` with probability `keep`, else 0. 32 random bits an element. May lie on a device, which then draws by itself:
/// the one draw whose numbers are others there.
at::Tensor fill_kept(at::Tensor out, double keep, double value);
/// Where a device begins to draw the mask of a site.
uint64_t mask_seed(const DrawSite& at);
/// i64 in [low, high), 64 random bits an element.
at::Tensor fill_whole(at::Tensor out, int64_t low, int64_t high);
/// i64[n]: 0 … n - 1 in random order.
at::Tensor draw_permutation(int64_t n);
/// i64[…, 1]: an index of the last axis of `weights`, with a probability in proportion to it. R3007 if a row has no
/// positive weight, or one that is negative or not finite.
at::Tensor draw_index(const at::Tensor& weights);

}  // namespace ltr
