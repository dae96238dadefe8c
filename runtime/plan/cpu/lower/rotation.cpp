// Rotary positions: pairs of elements turned by an angle that their place says. Su et al. 2021.

#include <cmath>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// Cosines and sines by place and pair, as the function of the library has them.
struct Angles {
  std::vector<float> cos, sin;
};
Angles angles_of(int64_t places, int64_t half, double base, int64_t offset) {
  Angles angles;
  for (int64_t place = offset; place < offset + places; ++place) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = double(place) * std::pow(base, double(i) * (-1.0 / double(half)));
      angles.cos.push_back(float(std::cos(angle)));
      angles.sin.push_back(float(std::sin(angle)));
    }
  }
  return angles;
}

/// Element i of the first half of a row and element i of the second are a pair; `turn` 1 or -1.
bool rotate(Lowering& to, float turn) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.size() < 2) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const int64_t places = x.sizes[x.sizes.size() - 2], width = x.sizes.back(), half = width / 2;
  if (width % 2 != 0) return false;
  const Rows rows = rows_of(to, out);
  const bool by_samples = rows.by_samples && to.is_apart(x);
  const Rows split{rows.count, width, by_samples};
  call(to, split.split(), {to.touched(x, by_samples)}, {to.touched(out, by_samples)}, named(to, x),
       [=, angles = angles_of(places, half, node.host<double>(1), node.host<int64_t>(2))](Memory memory,
                                                                                          const Part& part) {
         const auto [begin, end] = split.of(part);
         for (int64_t r = begin; r < end; ++r) {
           const float* const a = floats(memory, x) + r * width;
           float* const into = floats(memory, out) + r * width;
           const float* const cos = angles.cos.data() + r % places * half;
           const float* const sin = angles.sin.data() + r % places * half;
           for (int64_t i = 0; i < half; ++i) {
             const float first = a[i], second = a[half + i], s = sin[i] * turn;
             into[i] = first * cos[i] - second * s;
             into[half + i] = second * cos[i] + first * s;
           }
         }
       });
  return true;
}

}  // namespace

bool lower_rotation(Lowering& to) {
  switch (to.node().op) {
    case Op::rope: return rotate(to, 1);
    case Op::rope_backward: return rotate(to, -1);
    default: return false;
  }
}

}  // namespace ltr::plan
