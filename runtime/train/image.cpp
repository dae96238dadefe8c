#include "runtime/train/image.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "doors/number.h"
#include "runtime/api/error.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

doors::Image image_of(const at::Tensor& given) {
  at::Tensor image = on_host(given);
  if (image.dim() == 2) image = image.unsqueeze(0);
  if (image.dim() == 4) image = at::cat(at::unbind(image), -1);
  if (image.dim() != 3 || image.size(0) > 4 || image.size(0) < 1) {
    throw error_here(err::shape_check_failed, fmt::format("an image is [C, H, W] or [N, C, H, W], not [{}]",
                                                          fmt::join(given.sizes().vec(), ", ")));
  }
  if (image.scalar_type() != at::kByte) image = (image.to(at::kFloat).clamp(0, 1) * 255).round().to(at::kByte);
  image = image.permute({1, 2, 0}).contiguous();
  const uint8_t* data = image.const_data_ptr<uint8_t>();
  return {image.size(1), image.size(0), image.size(2), std::vector<uint8_t>(data, data + image.numel())};
}

doors::Image heat_map(const at::Tensor& matrix) {
  if (matrix.dim() != 2) return image_of(matrix);
  constexpr int64_t kSide = 8;
  at::Tensor share = matrix.to(at::kDouble);
  share = share / at::clamp_min(share.abs().sum(1, true), 1e-12);
  share = share.repeat_interleave(kSide, 0).repeat_interleave(kSide, 1).clamp(0, 1);
  return image_of(at::stack({1 - share, 1 - 0.7 * share, 1 - 0.35 * share}));
}

doors::Histogram histogram_of(const at::Tensor& values, int64_t bins) {
  const at::Tensor flat = on_host(values.detach()).to(at::kDouble).flatten().contiguous();
  return doors::make_histogram({flat.const_data_ptr<double>(), size_t(flat.numel())}, size_t(bins));
}

std::vector<std::vector<double>> rows_of(const at::Tensor& matrix) {
  const at::Tensor values = on_host(matrix.detach()).to(at::kDouble).contiguous();
  std::vector<std::vector<double>> rows;
  const double* at = values.const_data_ptr<double>();
  for (int64_t i = 0; i < values.size(0); ++i, at += values.size(1)) rows.emplace_back(at, at + values.size(1));
  return rows;
}

Str number_text(const at::Tensor& value, bool is_json) {
  if (value.scalar_type() == at::kBool) return value.item().toBool() ? "true" : "false";
  if (!value.is_floating_point()) return std::to_string(value.item().toLong());
  // The shortest text of a float, not of the double that it widens to.
  const double wide = value.item().toDouble();
  if (value.scalar_type() == at::kFloat && std::isfinite(wide)) return fmt::format("{}", float(wide));
  return is_json ? doors::json_number(wide) : doors::shortest(wide);
}

Str json_of(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return number_text(tensor, true);
  Str out = "[";
  for (int64_t i = 0; i < tensor.size(0); ++i) out += (i == 0 ? "" : ",") + json_of(tensor[i]);
  return out + "]";
}

}  // namespace ltr
