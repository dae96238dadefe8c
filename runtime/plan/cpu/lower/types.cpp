// Values of any element type: constants, what becomes another type, and sums of what floats would lose digits of.

#include <algorithm>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// `with(T())` of the type that stands for it in C++; false for one that no kernel has.
template <class With>
bool typed(DType type, const With& with) {
  switch (type) {
    case DType::F32: return with(float());
    case DType::F64: return with(double());
    case DType::I64: return with(int64_t());
    case DType::Bool: return with(bool());
    case DType::U8: return with(uint8_t());
    default: return false;
  }
}

template <class T>
T* typed_at(Memory memory, const Layout& layout) {
  return reinterpret_cast<T*>(memory[layout.root]) + layout.offset;
}

/// A number, or numbers, as the type that the result has.
bool constant(Lowering& to, const Argument& argument) {
  const Layout out = to.layout(to.result());
  return typed(to.dtype(to.result()), [&](auto type) {
    using T = decltype(type);
    const auto make = [&](auto numbers) {
      // One stands for all elements.
      if (numbers.size() != 1 && int64_t(numbers.size()) != out.count()) return false;
      const bool is_one = numbers.size() == 1;
      call(to, Split::Alone, {}, {{out.root, false}}, named(to, out),
           [out, is_one, numbers = std::move(numbers)](Memory memory, const Part&) {
             T* const into = typed_at<T>(memory, out);
             const int64_t count = out.count();
             for (int64_t i = 0; i < count; ++i) into[i] = T(numbers[is_one ? 0 : size_t(i)]);
           });
      return true;
    };
    if (const auto* real = std::get_if<double>(&argument)) return make(Floats{*real});
    if (const auto* whole = std::get_if<int64_t>(&argument)) return make(Ints{*whole});
    if (const auto* flag = std::get_if<bool>(&argument)) return make(Ints{*flag ? 1 : 0});
    if (const auto* reals = std::get_if<Floats>(&argument)) return make(Floats(*reals));
    if (const auto* wholes = std::get_if<Ints>(&argument)) return make(Ints(*wholes));
    return false;
  });
}

/// Each element as another type; what has a fraction loses it, as LibTorch has it.
bool converted(Lowering& to) {
  const Layout x = to.layout(to.argument(0)), out = to.layout(to.result());
  if (!x.is_dense()) return false;
  return typed(to.dtype(to.argument(0)), [&](auto from) {
    return typed(to.dtype(to.result()), [&](auto into) {
      using From = decltype(from);
      using Into = decltype(into);
      const Rows rows{x.count(), 1, to.is_apart(x) && to.is_apart(out)};
      call(to, rows.split(), {to.touched(x, rows.by_samples)}, {to.touched(out, rows.by_samples)}, named(to, out),
           [=](Memory memory, const Part& part) {
             const auto [begin, end] = rows.of(part);
             const From* const source = typed_at<From>(memory, x);
             Into* const sink = typed_at<Into>(memory, out);
             for (int64_t i = begin; i < end; ++i) sink[i] = Into(source[i]);
           });
      return true;
    });
  });
}

/// Sums of doubles, whole numbers and conditions, of all or along an axis.
bool exact_sum(Lowering& to) {
  const Layout x = to.layout(to.argument(0)), out = to.layout(to.result());
  const DType into = to.dtype(to.result());
  if (!x.is_dense() || (into != DType::F64 && into != DType::I64)) return false;
  const auto* dim = std::get_if<int64_t>(&to.node().arguments[1]);
  const Middle of = dim == nullptr || x.sizes.empty() ? Middle{1, x.count(), 1} : middle_of(x, *dim);
  return typed(to.dtype(to.argument(0)), [&](auto from) {
    return typed(into, [&](auto sum) {
      using From = decltype(from);
      using Sum = decltype(sum);
      call(to, Split::Shares, {{x.root, false}}, {{out.root, false}}, named(to, x),
           [=](Memory memory, const Part& part) {
             const auto [begin, end] = part.share(of.results());
             for (int64_t r = begin; r < end; ++r) {
               const From* const first = typed_at<From>(memory, x) + r / of.inner * of.width * of.inner + r % of.inner;
               Sum all = 0;
               for (int64_t w = 0; w < of.width; ++w) all += Sum(first[w * of.inner]);
               typed_at<Sum>(memory, out)[r] = all;
             }
           });
      return true;
    });
  });
}

}  // namespace

bool lower_types(Lowering& to) {
  const Node& node = to.node();
  switch (node.op) {
    case Op::tensor_of_real:
    case Op::tensor_of_whole:
    case Op::tensor_of_bool:
    case Op::tensor_of_reals:
    case Op::tensor_of_wholes: return constant(to, node.arguments[0]);
    case Op::full: return constant(to, node.arguments[1]);
    case Op::blank:
    case Op::zeros: return constant(to, int64_t(0));
    case Op::ones: return constant(to, int64_t(1));
    case Op::to: return converted(to);
    case Op::sum: return exact_sum(to);
    default: return false;
  }
}

}  // namespace ltr::plan
