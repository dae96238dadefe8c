#include "runtime/train/output_rows.h"

#include <ATen/ATen.h>

#include "doors/number.h"
#include "runtime/data/texts.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/image.h"

namespace ltr {

std::vector<Str> json_rows(const Outputs& outputs) {
  std::vector<Str> rows;
  for (const Output& one : outputs) {
    const at::Tensor values = aten(one.value).detach().to(at::kCPU).contiguous();
    const std::vector<Str> texts = one.is_texts ? unpack_texts(values) : std::vector<Str>();
    rows.resize(size_t(values.size(0)), "{");
    const Str name = doors::json_string(one.name);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].size() > 1) rows[i] += ',';
      rows[i] += name + ":" + (one.is_texts ? doors::json_string(texts[i]) : json_of(values[int64_t(i)]));
    }
  }
  for (Str& row : rows) row += '}';
  return rows;
}

}  // namespace ltr
