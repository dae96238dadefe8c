#include "runtime/data/texts.h"

#include <algorithm>

#include <ATen/ops/full.h>

namespace ltr {

at::Tensor pack_texts(const std::vector<Str>& texts) {
  size_t longest = 0;
  for (const Str& text : texts) longest = std::max(longest, text.size());
  at::Tensor packed = at::full({int64_t(texts.size()), int64_t(longest)}, int64_t(kNoByte), at::kByte);
  auto* row = packed.data_ptr<uint8_t>();
  for (const Str& text : texts) {
    std::copy(text.begin(), text.end(), row);
    row += longest;
  }
  return packed;
}

std::vector<Str> unpack_texts(const at::Tensor& packed) {
  const at::Tensor dense = packed.to(at::kCPU).contiguous();
  const auto width = size_t(dense.size(1));
  std::vector<Str> texts;
  for (int64_t i = 0; i < dense.size(0); ++i) {
    const auto* row = dense.const_data_ptr<uint8_t>() + size_t(i) * width;
    texts.emplace_back(row, std::find(row, row + width, kNoByte));
  }
  return texts;
}

}  // namespace ltr
