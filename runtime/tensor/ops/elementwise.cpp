#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/step_watch.h"

namespace ltr {

namespace {

/// A host number as a 0-d tensor that takes part in type promotion as a number, not as a tensor.
at::Tensor wrapped(const Scalar& scalar) {
  at::Tensor tensor = at::scalar_tensor(aten(scalar), scalar.is_int ? at::kLong : at::kDouble);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// A host float with an integer tensor gives the policy type; ATen would take its own default.
at::Tensor promoted(const at::Tensor& x, const Scalar& other) {
  return !other.is_int && c10::isIntegralType(x.scalar_type(), true) ? x.to(policy_type()) : x;
}

at::Tensor true_dividend(const at::Tensor& x) {
  return c10::isIntegralType(x.scalar_type(), true) ? x.to(policy_type()) : x;
}

}  // namespace

#define LTR_UNARY(name)                                    \
  Tensor name(const Tensor& x) {                           \
    return guarded([&] { return give(at::name(In(x))); }); \
  }
#define LTR_UNARY_WIDE(name)                                     \
  Tensor name(const Tensor& x) {                                 \
    return guarded([&] { return give(at::name(wide(In(x)))); }); \
  }

LTR_UNARY(abs)
LTR_UNARY(sqrt)
LTR_UNARY(sin)
LTR_UNARY(cos)
LTR_UNARY(tanh)
LTR_UNARY(sigmoid)
LTR_UNARY(erf)
LTR_UNARY(floor)
LTR_UNARY(ceil)
LTR_UNARY(round)
LTR_UNARY(sign)
LTR_UNARY(square)
LTR_UNARY(isfinite)
LTR_UNARY(clone)
LTR_UNARY(neg)
LTR_UNARY(logical_not)
LTR_UNARY_WIDE(exp)
LTR_UNARY_WIDE(log)
LTR_UNARY_WIDE(log1p)
LTR_UNARY_WIDE(rsqrt)

Tensor isnan_(const Tensor& x) {
  return guarded([&] { return give(at::isnan(In(x))); });
}

#undef LTR_UNARY
#undef LTR_UNARY_WIDE

#define LTR_BINARY(name, function)                                                              \
  Tensor name(const Tensor& left, const Tensor& right) {                                        \
    return guarded([&] { return give(at::function(In(left), In(right))); });                    \
  }                                                                                             \
  Tensor name(const Tensor& left, Scalar right) {                                               \
    return guarded([&] { return give(at::function(promoted(In(left), right), aten(right))); }); \
  }
#define LTR_REVERSED(name, function, mirrored)                                                 \
  LTR_BINARY(name, function)                                                                   \
  Tensor name(Scalar left, const Tensor& right) {                                              \
    return guarded([&] { return give(at::mirrored(promoted(In(right), left), aten(left))); }); \
  }

LTR_REVERSED(add, add, add)
LTR_REVERSED(mul, mul, mul)
LTR_REVERSED(eq, eq, eq)
LTR_REVERSED(ne, ne, ne)
LTR_REVERSED(lt, lt, gt)
LTR_REVERSED(le, le, ge)
LTR_REVERSED(gt, gt, lt)
LTR_REVERSED(ge, ge, le)
LTR_BINARY(sub, sub)
LTR_BINARY(remainder, remainder)

#undef LTR_BINARY
#undef LTR_REVERSED

Tensor sub(Scalar left, const Tensor& right) {
  return guarded([&] { return give(at::rsub(promoted(In(right), left), aten(left))); });
}

Tensor remainder(Scalar left, const Tensor& right) {
  return guarded([&] { return give(at::remainder(wrapped(left), promoted(In(right), left))); });
}

Tensor div(const Tensor& left, const Tensor& right) {
  return guarded([&] {
    const In a(left), b(right);
    if (a->is_floating_point() || b->is_floating_point()) return give(at::div(a, b));
    return give(at::div(true_dividend(a), true_dividend(b)));
  });
}

Tensor div(const Tensor& left, Scalar right) {
  return guarded([&] { return give(at::div(true_dividend(In(left)), aten(right))); });
}

Tensor div(Scalar left, const Tensor& right) {
  return guarded([&] { return give(at::div(wrapped(left), true_dividend(In(right)))); });
}

Tensor pow(const Tensor& left, const Tensor& right) {
  return guarded([&] { return give(at::pow(wide(In(left)), wide(In(right)))); });
}

Tensor pow(const Tensor& left, Scalar right) {
  return guarded([&] { return give(at::pow(promoted(wide(In(left)), right), aten(right))); });
}

Tensor pow(Scalar left, const Tensor& right) {
  return guarded([&] { return give(at::pow(aten(left), promoted(wide(In(right)), left))); });
}

#define LTR_WRAPPED(name, function)                                               \
  Tensor name(const Tensor& left, const Tensor& right) {                          \
    return guarded([&] { return give(at::function(In(left), In(right))); });      \
  }                                                                               \
  Tensor name(const Tensor& left, Scalar right) {                                 \
    return guarded([&] { return give(at::function(In(left), wrapped(right))); }); \
  }                                                                               \
  Tensor name(Scalar left, const Tensor& right) {                                 \
    return guarded([&] { return give(at::function(wrapped(left), In(right))); }); \
  }

LTR_WRAPPED(minimum, minimum)
LTR_WRAPPED(maximum, maximum)
LTR_WRAPPED(logical_and, logical_and)
LTR_WRAPPED(logical_or, logical_or)

#undef LTR_WRAPPED

Tensor clamp(const Tensor& x, Option<double> min, Option<double> max) {
  return guarded([&] {
    if (!min && !max) return x;
    // Whole bounds leave integers integers.
    const auto bound = [&](const Option<double>& value) -> std::optional<at::Scalar> {
      if (!value) return std::nullopt;
      if (!In(x)->is_floating_point() && double(int64_t(*value)) == *value) return at::Scalar(int64_t(*value));
      return at::Scalar(*value);
    };
    return give(at::clamp(In(x), bound(min), bound(max)));
  });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return guarded([&] { return give(at::where(In(condition), In(a), In(b))); });
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return guarded([&] { return give(at::where(In(condition), In(a), aten(b))); });
}

Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return guarded([&] { return give(at::where(In(condition), aten(a), In(b))); });
}

Tensor where(const Tensor& condition, Scalar a, Scalar b) {
  return guarded([&] {
    const at::ScalarType dtype = a.is_int && b.is_int ? at::kLong : policy_type();
    return give(at::where(In(condition), at::scalar_tensor(aten(a), dtype), at::scalar_tensor(aten(b), dtype)));
  });
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  return guarded([&] { return give(at::masked_fill(In(x), In(mask), aten(value))); });
}

Tensor stop_grad(const Tensor& x) {
  return guarded([&] { return give(In(x)->detach()); });
}

Tensor or_else(const Tensor& value, const Tensor& other) { return value.defined() ? value : other; }

int64_t numel(const Tensor& x) { return In(x)->numel(); }

Tensor tracked(const Tensor& x) {
  return guarded([&] {
    const In source(x);
    if (source->requires_grad() || !c10::GradMode::is_enabled() || !at::isFloatingType(source->scalar_type())) return x;
    return give(source->detach().set_requires_grad(true));
  });
}

Tensor grad(const Tensor& y, const Tensor& x) {
  return guarded([&] {
    const bool was_enabled = c10::GradMode::is_enabled();
    torch::autograd::variable_list gradient =
        torch::autograd::grad({aten(y)}, {aten(x)}, {}, std::nullopt, was_enabled, true);
    return give(gradient[0].defined() ? gradient[0] : at::zeros_like(In(x)));
  });
}

Tensor to(const Tensor& x, DType dtype) {
  return guarded([&] {
    const In source(x);
    const at::ScalarType wanted = aten(dtype);
    return source->scalar_type() == wanted ? x : give(source->to(wanted));
  });
}

void assign(const Tensor& buffer, const Tensor& value) {
  guarded([&] {
    const NoGrad no_grad;
    const In target(buffer), source(value);
    if (target->sizes() != source->sizes()) {
      throw error_here(err::shape_check_failed,
                       fmt::format("a buffer of [{}] cannot take [{}]", fmt::join(target->sizes().vec(), ", "),
                                   fmt::join(source->sizes().vec(), ", ")));
    }
    target->copy_(source);
  });
}

void assign(const Tensor& buffer, Scalar value) {
  guarded([&] {
    const NoGrad no_grad;
    In(buffer)->fill_(aten(value));
  });
}

bool close(const Tensor& a, const Tensor& b, double tolerance) {
  refuse_plan(Unplanned::HostRead);
  return guarded([&] {
    const In x(a), y(b);
    return x->sizes() == y->sizes() && at::allclose(x, y, tolerance, tolerance, true);
  });
}

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance + tolerance * std::abs(b); }

bool equal(const Tensor& a, const Tensor& b) {
  refuse_plan(Unplanned::HostRead);
  return guarded([&] {
    const In x(a), y(b);
    return x->scalar_type() == y->scalar_type() && x->sizes() == y->sizes() && at::equal(x, y);
  });
}

}  // namespace ltr
