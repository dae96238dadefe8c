#include "runtime/tensor/range.h"

#include <ATen/ATen.h>

#include "runtime/api/error.h"

namespace ltr {

void need_in_range(const at::Tensor& ids, int64_t count, std::optional<int64_t> ignored, const char* what,
                   bool can_ignore) {
  at::Tensor is_wrong = ids.lt(0) | ids.ge(count);
  if (ignored) is_wrong = is_wrong & ids.ne(*ignored);
  const at::Tensor flat = is_wrong.flatten();
  if (!flat.any().item().toBool()) return;
  const int64_t first = flat.to(at::kByte).argmax().item().toLong();
  const int64_t width = ids.dim() > 1 ? ids.numel() / ids.size(0) : 1;
  const int64_t wrong = ids.flatten()[first].item().toLong();
  Error error = error_here(err::value_out_of_range, fmt::format("the {} {} is not in [0, {})", what, wrong, count));
  // Below 0 it is likely a mark for what shall not count; above, a wrong number of classes.
  if (wrong < 0 && can_ignore && !ignored) {
    error.help = fmt::format(
        "labels of {0} are left out with `ignore_index = {0}` in a loss, `ignore = {0}` in a metric that takes it",
        wrong);
  }
  if (ids.dim() > 0) error.sample = first / width;
  throw error;
}

}  // namespace ltr
