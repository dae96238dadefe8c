#pragma once

// Element-wise functions that take one pass over memory together.

#include "runtime/kernels/pointwise.h"
#include "runtime/plan/cpu/kernel.h"

namespace ltr::plan {

struct PointProgram {
  enum class Source : uint8_t { None, Load, Number, Step };
  struct Ref {
    Source source = Source::None;
    uint32_t at = 0;  ///< index into that list
    bool operator==(const Ref&) const = default;
  };
  struct Load {
    Layout layout;  ///< over `sizes`; what stretches has stride 0
    DType dtype = DType::F32;
    bool operator==(const Load&) const = default;
  };
  /// What `dropout` keeps: elements are counted in the order of `sizes`.
  struct Draw {
    uint64_t site;
    double keep;
  };
  struct Step {
    kernels::Point op = kernels::Point::copy;
    Ref operands[3];
    Option<Draw> draw;  ///< instead of `op`
  };
  /// A value that others read, side by side in memory of its own.
  struct Store {
    ValueId root;
    DType dtype;
    uint32_t step;
  };

  Ints sizes;  ///< of all values
  std::vector<Load> loads;
  std::vector<float> numbers;
  std::vector<Step> steps;
  std::vector<Store> stores;

  Ref load(Layout layout, DType dtype);
  Ref number(double value);
  Ref step(kernels::Point op, Ref a) { return step(op, a, Ref(), Ref()); }
  Ref step(kernels::Point op, Ref a, Ref b) { return step(op, a, b, Ref()); }
  Ref step(kernels::Point op, Ref a, Ref b, Ref c);
  void store(ValueId root, DType dtype, Ref step);

  /// Appends `next`, which reads what this one stores.
  void append(const PointProgram& next);
  /// Leaves out stores of roots that nobody reads, and what leads to nothing.
  void keep_stores(const std::vector<bool>& is_read);
  /// Puts one step in place of two where a kernel has both.
  void join_steps();
  /// Roots of loads, each with that of a store of the same elements in the same order, which no step precedes that still reads the load.
  std::vector<std::pair<ValueId, ValueId>> in_place(const std::vector<int64_t>& elements) const;
};

/// The call that runs it; threads take samples where these lie apart in all that it stores. `elements`: of each root.
Call make_point_call(const PointProgram& program, const std::vector<int64_t>& elements, int64_t samples,
                     Location location);
/// What one call has room for: loads, numbers, steps and stores together.
inline constexpr size_t kMostPointOperands = 96;

}  // namespace ltr::plan
