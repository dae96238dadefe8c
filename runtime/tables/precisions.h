#pragma once

#include <string_view>

/// What products are computed in and what weights are kept in; the state of optimizers has the type of the weights. The compiler
/// reads this table, too. `ROW(name, compute, weights)` for each, with `BETWEEN` between two.
#define LTR_PRECISIONS(ROW, BETWEEN) \
  ROW(f64, f64, f64)                 \
  BETWEEN ROW(f32, f32, f32)         \
  BETWEEN ROW(tf32, tf32, f32)       \
  BETWEEN ROW(bf16, bf16, f32)       \
  BETWEEN ROW(f16, f16, f32)         \
  BETWEEN ROW(bf16_pure, bf16, bf16)

#define LTR_PRECISION_NAME(name, ...) #name
/// The type of the setting `precision`, as `.ltr` writes it.
#define LTR_PRECISION_TYPE "one_of[" LTR_PRECISIONS(LTR_PRECISION_NAME, ", ") "]"

namespace ltr {

struct PrecisionRow {
  const char* name;
  std::string_view compute;
  std::string_view weights;
};

inline constexpr PrecisionRow kPrecisionRows[] = {
#define LTR_PRECISION_ROW(name, compute, weights) {#name, #compute, #weights},
    LTR_PRECISIONS(LTR_PRECISION_ROW, )
#undef LTR_PRECISION_ROW
};

}  // namespace ltr
