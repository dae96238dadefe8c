#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/range.h"

namespace ltr {

namespace {

/// Over `dim` if it is given, else over everything.
template <class All, class Along>
Tensor reduced(Option<int64_t> dim, All&& all, Along&& along) {
  return guarded([&] { return give(dim ? along(*dim) : all()); });
}

/// ATen's norm of everything keeps no axes; `keepdim` without `dim` makes each 1.
at::Tensor kept(at::Tensor value, const at::Tensor& x, bool keepdim) {
  return keepdim ? value.reshape(std::vector<int64_t>(size_t(x.dim()), 1)) : value;
}

/// R1006 where a largest or smallest of nothing is asked for.
void need_elements(const at::Tensor& x, Option<int64_t> dim, const char* name) {
  if (x.numel() > 0 || (dim && x.size(*dim) > 0)) return;
  throw error_here(err::shape_check_failed, fmt::format("`{}` of no elements has no value: the shape is [{}]", name,
                                                        fmt::join(x.sizes().vec(), ", ")));
}

}  // namespace

Tensor sum(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  return guarded([&] {
    const at::Tensor x = wide(In(x_));
    return give(dim ? at::sum(x, *dim, keepdim) : kept(at::sum(x), x, keepdim));
  });
}

Tensor mean(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  return reduced(
      dim, [&] { return kept(at::mean(x), x, keepdim); }, [&](int64_t d) { return at::mean(x, d, keepdim); });
}

Tensor var(const Tensor& x_, Option<int64_t> dim, bool keepdim, bool unbiased) {
  const In x(x_);
  return reduced(
      dim, [&] { return kept(at::var(x, unbiased), x, keepdim); },
      [&](int64_t d) { return at::var(x, at::IntArrayRef(d), unbiased, keepdim); });
}

Tensor std_(const Tensor& x_, Option<int64_t> dim, bool keepdim, bool unbiased) {
  const In x(x_);
  return reduced(
      dim, [&] { return kept(at::std(x, unbiased), x, keepdim); },
      [&](int64_t d) { return at::std(x, at::IntArrayRef(d), unbiased, keepdim); });
}

Tensor min(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  need_elements(x, dim, "min");
  return reduced(
      dim, [&] { return kept(at::min(x), x, keepdim); },
      [&](int64_t d) { return std::get<0>(at::min(x, d, keepdim)); });
}

Tensor max(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  need_elements(x, dim, "max");
  return reduced(
      dim, [&] { return kept(at::max(x), x, keepdim); },
      [&](int64_t d) { return std::get<0>(at::max(x, d, keepdim)); });
}

Tensor argmin(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  need_elements(x, dim, "argmin");
  return guarded([&] { return give(at::argmin(x, dim, keepdim)); });
}

Tensor argmax(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  need_elements(x, dim, "argmax");
  return guarded([&] { return give(at::argmax(x, dim, keepdim)); });
}

Tensor any(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  return reduced(
      dim, [&] { return kept(at::any(*x != 0), x, keepdim); }, [&](int64_t d) { return at::any(*x != 0, d, keepdim); });
}

Tensor all(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  const In x(x_);
  return reduced(
      dim, [&] { return kept(at::all(*x != 0), x, keepdim); }, [&](int64_t d) { return at::all(*x != 0, d, keepdim); });
}

Tensor prod(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  return guarded([&] {
    const at::Tensor x = wide(In(x_));
    return give(dim ? at::prod(x, *dim, keepdim) : kept(at::prod(x), x, keepdim));
  });
}

Tensor logsumexp(const Tensor& x_, Option<int64_t> dim, bool keepdim) {
  return guarded([&] {
    const at::Tensor x = wide(In(x_));
    if (dim) return give(at::logsumexp(x, *dim, keepdim));
    return give(kept(at::logsumexp(x.flatten(), 0), x, keepdim));
  });
}

Tensor norm(const Tensor& x_, double p, Option<int64_t> dim, bool keepdim) {
  return guarded([&] {
    const at::Tensor x = wide(In(x_));
    if (dim) return give(at::linalg_vector_norm(x, p, *dim, keepdim));
    return give(kept(at::linalg_vector_norm(x, p), x, keepdim));
  });
}

Tensor cumsum(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::cumsum(wide(In(x)), dim)); });
}

Tensor cumprod(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::cumprod(wide(In(x)), dim)); });
}

Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::logcumsumexp(wide(In(x)), dim)); });
}

std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim) {
  return guarded([&] {
    auto [values, places] = at::topk(In(x), k, dim);
    return std::tuple(give(values), give(places));
  });
}

std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending) {
  return guarded([&] {
    auto [values, places] = at::sort(In(x), true, dim, descending);
    return std::tuple(give(values), give(places));
  });
}

Tensor unique(const Tensor& x) {
  return guarded([&] { return give(std::get<0>(at::_unique(In(x), true))); });
}

Tensor counted(const Tensor& label, Option<int64_t> ignore, int64_t classes, const Str& what) {
  return guarded([&] {
    const In ids(label);
    const at::Tensor counts = ignore ? ids->ne(*ignore) : at::ones_like(ids, at::kBool);
    if (ids->is_cpu()) {
      need_in_range(ids, classes, ignore, what.c_str(), what == "label");
    } else {
      at::_assert_async((counts.logical_not() | (ids->ge(0) & ids->lt(classes))).all(),
                        ("a " + what + " is out of range").c_str());
    }
    return give(counts);
  });
}

// What is not counted is added as 0 to class 0, so that no shape depends on the values and nothing waits for a device.

namespace {

void check_classes(const at::Tensor& ids, const at::Tensor& counted, int64_t classes) {
  if (!ids.is_cpu() || ids.numel() == 0) return;  // A device checks in its kernel.
  const at::Tensor wrong = at::logical_and(counted, at::logical_or(ids < 0, ids >= classes));
  if (wrong.any().item<bool>()) {
    const auto value = ids.masked_select(wrong)[0].item<int64_t>();
    throw error_here(err::value_out_of_range, fmt::format("the class {} is not in [0, {})", value, classes));
  }
}

at::Tensor counts_of(const at::Tensor& ids, const at::Tensor& counted, int64_t size) {
  const at::Tensor places = at::where(counted, ids, 0).flatten();
  return at::zeros({size}, ids.options()).scatter_add_(0, places, counted.flatten().to(at::kLong));
}

}  // namespace

Tensor class_counts(const Tensor& label, const Tensor& counted, int64_t classes) {
  return guarded([&] {
    check_classes(In(label), In(counted), classes);
    return give(counts_of(In(label), In(counted), classes));
  });
}

Tensor confusion_counts(const Tensor& predicted, const Tensor& label, const Tensor& counted, int64_t classes) {
  return guarded([&] {
    check_classes(In(predicted), In(counted), classes);
    check_classes(In(label), In(counted), classes);
    const at::Tensor pairs = *In(label) * classes + *In(predicted);
    return give(counts_of(pairs, In(counted), classes * classes).reshape({classes, classes}));
  });
}

}  // namespace ltr
