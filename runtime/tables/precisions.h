#pragma once

#include <string_view>

/// What products are computed in and what weights are kept in; the state of optimizers has the type of the weights; and what stands in
/// on a CPU, itself where it is there: f16 needs loss scaling, and tf32 its own units. The compiler reads this table, too.
/// `ROW(name, compute, weights, on_cpu)` for each, with `BETWEEN` between two.
#define LTR_PRECISIONS(ROW, BETWEEN) \
  ROW(f64, f64, f64, f64)            \
  BETWEEN ROW(f32, f32, f32, f32)    \
  BETWEEN ROW(tf32, tf32, f32, f32)  \
  BETWEEN ROW(bf16, bf16, f32, bf16) \
  BETWEEN ROW(f16, f16, f32, bf16)   \
  BETWEEN ROW(bf16_pure, bf16, bf16, bf16_pure)

#define LTR_PRECISION_NAME(name, ...) #name
/// The type of the setting `precision`, as `.ltr` writes it.
#define LTR_PRECISION_TYPE "one_of[" LTR_PRECISIONS(LTR_PRECISION_NAME, ", ") "]"

namespace ltr {

struct PrecisionRow {
  const char* name;
  std::string_view compute;
  std::string_view weights;
  const char* on_cpu;
};

inline constexpr PrecisionRow kPrecisionRows[] = {
#define LTR_PRECISION_ROW(name, compute, weights, on_cpu) {#name, #compute, #weights, #on_cpu},
    LTR_PRECISIONS(LTR_PRECISION_ROW, )
#undef LTR_PRECISION_ROW
};

/// Null if there is no such one.
constexpr const PrecisionRow* find_precision(std::string_view name) {
  for (const PrecisionRow& row : kPrecisionRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

constexpr bool needs_gpu(const PrecisionRow& row) { return std::string_view(row.on_cpu) != row.name; }
constexpr bool needs_gpu(std::string_view name) {
  const PrecisionRow* row = find_precision(name);
  return row != nullptr && needs_gpu(*row);
}

}  // namespace ltr
