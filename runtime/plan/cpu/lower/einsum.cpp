// Einstein's sums: factor by factor, as products of matrices side by side. Which axes are rows, columns, sums or products of their own
// only strides say.

#include <algorithm>
#include <map>

#include "runtime/plan/cpu/lower/function.h"
#include "runtime/plan/einsum_pattern.h"

namespace ltr::plan {

namespace {

/// Values with a letter for each axis.
struct Factor {
  Str letters;
  Layout layout;

  bool has(char letter) const { return letters.find(letter) != Str::npos; }
};

/// The letters of `letters` that `holds`, in their order.
template <class Holds>
Str chosen(const Str& letters, const Holds& holds) {
  Str found;
  for (const char letter : letters) {
    if (holds(letter)) found += letter;
  }
  return found;
}

class Einsum {
 public:
  Einsum(Lowering& to, Str result) : to_(to), result_(std::move(result)) {}

  /// False, with nothing added, where letters and axes do not fit.
  bool take(const std::vector<Str>& letters, const std::vector<ValueRef>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Layout& layout = to_.layout(values[i].id);
      if (!to_.is_f32({values[i].id}) || layout.count() == 0 || letters[i].size() != layout.sizes.size()) return false;
      factors_.push_back({letters[i], layout});
      for (size_t axis = 0; axis < letters[i].size(); ++axis) {
        int64_t& size = sizes_.try_emplace(letters[i][axis], 1).first->second;
        size = std::max(size, layout.sizes[axis]);
      }
    }
    return std::ranges::all_of(result_, [&](char letter) { return sizes_.contains(letter); }) &&
           std::ranges::all_of(factors_, [&](Factor& factor) { return simplify(factor); });
  }

  /// The sum, with the axes of the result.
  Layout sum() {
    Factor all = summed(factors_[0], [&](char letter) { return is_needed(letter, 1); });
    for (size_t i = 1; i < factors_.size(); ++i) all = product(all, factors_[i], i + 1);
    return arranged(all, result_);
  }

 private:
  /// A letter that stands twice takes a diagonal, and an axis of 1 that goes with larger ones is none. False where sizes do not fit.
  bool simplify(Factor& factor) const {
    Str letters;
    Layout layout{factor.layout.root, factor.layout.offset, {}, {}};
    for (size_t axis = 0; axis < factor.letters.size(); ++axis) {
      const char letter = factor.letters[axis];
      const int64_t size = factor.layout.sizes[axis], stride = factor.layout.strides[axis];
      if (size == 1 && sizes_.at(letter) != 1) continue;
      if (size != sizes_.at(letter)) return false;
      const size_t first = letters.find(letter);
      if (first != Str::npos) {
        layout.strides[first] += stride;
        continue;
      }
      letters += letter;
      layout.sizes.push_back(size);
      layout.strides.push_back(stride);
    }
    factor = {std::move(letters), std::move(layout)};
    return true;
  }

  /// Whether the result has it, or a factor from `next` on.
  bool is_needed(char letter, size_t next) const {
    return result_.find(letter) != Str::npos || std::any_of(factors_.begin() + ptrdiff_t(next), factors_.end(),
                                                            [&](const Factor& factor) { return factor.has(letter); });
  }

  Ints sizes_of(const Str& letters) const {
    Ints sizes;
    for (const char letter : letters) sizes.push_back(sizes_.at(letter));
    return sizes;
  }
  int64_t count_of(const Str& letters) const {
    int64_t count = 1;
    for (const char letter : letters) count *= sizes_.at(letter);
    return count;
  }
  Factor made(const Str& letters) {
    return {letters, dense(to_.temporary(DType::F32, count_of(letters)), sizes_of(letters))};
  }

  /// With its axes in the order of `letters`, of which those that it lacks stretch.
  Layout arranged(const Factor& factor, const Str& letters) const {
    Layout layout{factor.layout.root, factor.layout.offset, sizes_of(letters), Ints(letters.size(), 0)};
    for (size_t axis = 0; axis < letters.size(); ++axis) {
      const size_t at = factor.letters.find(letters[axis]);
      if (at != Str::npos) layout.strides[axis] = factor.layout.strides[at];
    }
    return layout;
  }

  /// Summed over the letters that nobody `needs`.
  template <class Needs>
  Factor summed(const Factor& factor, const Needs& needs) {
    const Str kept = chosen(factor.letters, needs);
    if (kept.size() == factor.letters.size()) return factor;
    Factor sum = made(kept);
    Ints sizes = factor.layout.sizes;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (kept.find(factor.letters[axis]) == Str::npos) sizes[axis] = 1;
    }
    sum_stretched(to_, factor.layout, dense(sum.layout.root, sizes));
    return sum;
  }

  /// Of two factors; those from `next` on come later.
  Factor product(const Factor& first, const Factor& second, size_t next) {
    const auto needed = [&](char letter) { return is_needed(letter, next); };
    const Factor a = summed(first, [&](char letter) { return needed(letter) || second.has(letter); });
    const Factor b = summed(second, [&](char letter) { return needed(letter) || first.has(letter); });
    const Str both = chosen(a.letters, [&](char letter) { return b.has(letter) && needed(letter); });
    const Str sums = chosen(a.letters, [&](char letter) { return b.has(letter) && !needed(letter); });
    const Str rows = chosen(a.letters, [&](char letter) { return !b.has(letter); });
    const Str columns = chosen(b.letters, [&](char letter) { return !a.has(letter); });
    Factor out = made(both + rows + columns);
    if (sums.empty()) {
      PointProgram program = Lowering::program(out.layout.sizes);
      const auto x = program.load(arranged(a, out.letters), DType::F32);
      program.store(out.layout.root, DType::F32,
                    program.step(kernels::Point::mul, x, program.load(arranged(b, out.letters), DType::F32)));
      to_.add(std::move(program));
      return out;
    }
    const Layout left = matrices(a, both, rows, sums), right = matrices(b, both, sums, columns);
    if (both.empty())
      to_.product(left, right, {}, out.layout.root);
    else
      to_.batch_product(left, right, out.layout.root);
    return out;
  }

  /// [both…, rows, columns], copied where no strides say that.
  Layout matrices(const Factor& factor, const Str& both, const Str& rows, const Str& columns) {
    const Layout layout = arranged(factor, both + rows + columns);
    Ints sizes = sizes_of(both);
    sizes.push_back(count_of(rows));
    sizes.push_back(count_of(columns));
    const Option<Layout> found = reshaped(layout, sizes);
    return found ? *found : *reshaped(to_.side_by_side(layout, DType::F32), sizes);
  }

  Lowering& to_;
  Str result_;
  std::vector<Factor> factors_;
  std::map<char, int64_t> sizes_;
};

bool einsum(Lowering& to) {
  const auto& values = std::get<std::vector<ValueRef>>(to.node().arguments[1]);
  std::vector<size_t> ranks;
  for (const ValueRef value : values) ranks.push_back(to.layout(value.id).sizes.size());
  const EinsumPattern pattern = read_einsum(to.node().host<Str>(0), ranks);
  Einsum sum(to, pattern.result);
  if (!to.is_f32({to.result()}) || !sum.take(pattern.factors, values)) return false;
  Layout found = sum.sum();
  // What others may write later is copied.
  if (to.is_given(found.root)) {
    PointProgram program = Lowering::program(found.sizes);
    program.store(to.result(), DType::F32, program.load(found, DType::F32));
    to.add(std::move(program));
  } else {
    to.lay_out(0, std::move(found));
  }
  return true;
}

}  // namespace

bool lower_einsum(Lowering& to) { return to.node().op == Op::einsum && einsum(to); }

}  // namespace ltr::plan
