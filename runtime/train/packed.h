#pragma once

// Tensors as bytes, for what ranks tell each other. Nothing else reads them: they are of one machine, program and moment.

#include <ATen/core/Tensor.h>

#include <string_view>

#include "ltr/api.h"

namespace ltr {

void pack(Str& out, int64_t number);
void pack(Str& out, double number);
void pack(Str& out, std::string_view text);
void pack(Str& out, const at::Tensor& tensor);

/// Reads what was packed, in the same order.
class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : rest_(bytes) {}
  bool is_over() const { return rest_.empty(); }
  int64_t number();
  double real();
  std::string_view text();
  at::Tensor tensor();

 private:
  std::string_view take(size_t bytes);
  std::string_view rest_;
};

}  // namespace ltr
