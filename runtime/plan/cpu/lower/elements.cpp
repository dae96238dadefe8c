// Functions of elements.

#include <limits>

#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

namespace {

using kernels::Point;
using Ref = PointProgram::Ref;

/// An argument as an operand: a tensor, or a number.
Ref operand(Lowering& to, PointProgram& program, const Argument& argument) {
  if (const auto* value = std::get_if<ValueRef>(&argument)) return to.load(program, value->id);
  if (const auto* whole = std::get_if<int64_t>(&argument)) return program.number(double(*whole));
  return program.number(std::get<double>(argument));
}

bool is_number(const Argument& argument) {
  return std::holds_alternative<int64_t>(argument) || std::holds_alternative<double>(argument);
}

/// Whether a program computes with it: floats of 32 bits, conditions; whole numbers lose digits as floats.
bool is_computable(const Lowering& to, const Argument& argument) {
  const auto* value = std::get_if<ValueRef>(&argument);
  if (value == nullptr) return is_number(argument);
  return value->id != kNone && (to.dtype(value->id) == DType::F32 || to.dtype(value->id) == DType::Bool);
}

/// `op` of the first `count` arguments.
bool apply(Lowering& to, Point op, size_t count) {
  const Node& node = to.node();
  for (size_t i = 0; i < count; ++i) {
    if (!is_computable(to, node.arguments[i])) return false;
  }
  PointProgram program = Lowering::program(to.graph().values[to.result()].sizes);
  Ref operands[3];
  for (size_t i = 0; i < count; ++i) operands[i] = operand(to, program, node.arguments[i]);
  program.store(to.result(), to.dtype(to.result()), program.step(op, operands[0], operands[1], operands[2]));
  to.add(std::move(program));
  return true;
}

/// To the power of a number. As in LibTorch 0.5 is a root, which -inf has none of.
bool power(Lowering& to) {
  const auto* number = std::get_if<double>(&to.node().arguments[1]);
  if (number != nullptr && *number == 0.5) return apply(to, Point::sqrt, 1);
  if (number != nullptr && *number == -0.5) return apply(to, Point::rsqrt, 1);
  return apply(to, Point::pow, 2);
}

/// One program of the node, which `make` writes.
template <class Make>
bool compute(Lowering& to, const Make& make) {
  PointProgram program = Lowering::program(to.graph().values[to.result()].sizes);
  const Ref found = make(program);
  program.store(to.result(), to.dtype(to.result()), found);
  to.add(std::move(program));
  return true;
}

/// scale x above 0, else scale alpha (exp(x) - 1).
bool elu(Lowering& to, double scale, double alpha) {
  return compute(to, [&](PointProgram& p) {
    const Ref x = to.load(p, to.argument(0));
    const Ref below =
        p.step(Point::mul, p.step(Point::sub, p.step(Point::exp, x), p.number(1)), p.number(scale * alpha));
    const Ref above = scale == 1 ? x : p.step(Point::mul, x, p.number(scale));
    return p.step(Point::choose, p.step(Point::gt, x, p.number(0)), above, below);
  });
}

/// One slope for all, or one for each of axis 1.
bool prelu(Lowering& to) {
  Ints sizes(to.layout(to.argument(0)).sizes.size(), 1);
  const Layout& weight = to.layout(to.argument(1));
  if (weight.count() > 1) sizes[sizes.size() > 1 ? 1 : 0] = weight.count();
  const Option<Layout> slopes = reshaped(weight, sizes);
  return slopes && to.is_f32({to.argument(1)}) && compute(to, [&](PointProgram& p) {
           const Ref x = to.load(p, to.argument(0));
           return p.step(Point::choose, p.step(Point::gt, x, p.number(0)), x,
                         p.step(Point::mul, x, p.load(*slopes, DType::F32)));
         });
}

/// `gate(a, b)` of the halves of the last axis.
template <class Gate>
bool halves(Lowering& to, const Gate& gate) {
  return compute(to, [&](PointProgram& p) {
    Layout first = to.layout(to.argument(0));
    first.sizes.back() /= 2;
    Layout second = first;
    second.offset += first.sizes.back() * first.strides.back();
    const Ref a = p.load(first, DType::F32), b = p.load(second, DType::F32);
    return gate(p, a, b);
  });
}

double number_at(const Lowering& to, size_t at) { return to.node().host<double>(at); }

bool clamp(Lowering& to) {
  return compute(to, [&](PointProgram& p) {
    Ref x = to.load(p, to.argument(0));
    if (const auto* low = std::get_if<double>(&to.node().arguments[1])) x = p.step(Point::at_least, x, p.number(*low));
    if (const auto* high = std::get_if<double>(&to.node().arguments[2])) x = p.step(Point::at_most, x, p.number(*high));
    return x;
  });
}

bool convert(Lowering& to) {
  const DType from = to.dtype(to.argument(0)), into = to.dtype(to.result());
  const bool fits =
      into == DType::F32 && (from == DType::F32 || from == DType::Bool || from == DType::I64 || from == DType::U8);
  if (!fits && !(from == DType::F32 && into == DType::Bool)) return false;
  return compute(to, [&](PointProgram& p) {
    const Ref x = to.load(p, to.argument(0));
    // Conditions are 1 and 0.
    return into == DType::Bool ? p.step(Point::ne, x, p.number(0)) : x;
  });
}

bool dropout(Lowering& to) {
  const Node& node = to.node();
  if (!node.is_training || !node.site) return false;
  return compute(to, [&](PointProgram& p) {
    const Ref x = to.load(p, to.argument(0));
    const Ref kept = p.step(Point::copy, x);
    p.steps.back().draw = PointProgram::Draw{*node.site, 1 - number_at(to, 1)};
    return kept;
  });
}

}  // namespace

bool lower_elements(Lowering& to) {
  const Node& node = to.node();
  if (node.results.size() != 1 || node.results[0] == kNone) return false;
  const DType type = to.dtype(to.result());
  if (type != DType::F32 && type != DType::Bool) return false;
  const auto first = [&] { return to.is_f32({to.argument(0)}); };
  switch (node.op) {
#define LTR_LOWER(op, point, count) \
  case Op::op: return apply(to, Point::point, count);
    LTR_LOWER(neg, neg, 1)
    LTR_LOWER(abs, abs, 1)
    LTR_LOWER(exp, exp, 1)
    LTR_LOWER(log, log, 1)
    LTR_LOWER(log1p, log1p, 1)
    LTR_LOWER(sqrt, sqrt, 1)
    LTR_LOWER(rsqrt, rsqrt, 1)
    LTR_LOWER(square, square, 1)
    LTR_LOWER(sin, sin, 1)
    LTR_LOWER(cos, cos, 1)
    LTR_LOWER(tanh, tanh, 1)
    LTR_LOWER(sigmoid, sigmoid, 1)
    LTR_LOWER(erf, erf, 1)
    LTR_LOWER(floor, floor, 1)
    LTR_LOWER(ceil, ceil, 1)
    LTR_LOWER(round, round, 1)
    LTR_LOWER(sign, sign, 1)
    LTR_LOWER(relu, relu, 1)
    LTR_LOWER(silu, silu, 1)
    LTR_LOWER(clone, copy, 1)
    LTR_LOWER(logical_not, logical_not, 1)
    LTR_LOWER(pow, pow, 2)
    LTR_LOWER(number_pow, pow, 2)
    LTR_LOWER(where, choose, 3)
    LTR_LOWER(where_number, choose, 3)
    LTR_LOWER(number_where, choose, 3)
    LTR_LOWER(where_numbers, choose, 3)
#define LTR_LOWER_BINARY(name)      \
  LTR_LOWER(name, name, 2)          \
  LTR_LOWER(name##_number, name, 2) \
  LTR_LOWER(number_##name, name, 2)
    LTR_LOWER_BINARY(add)
    LTR_LOWER_BINARY(sub)
    LTR_LOWER_BINARY(mul)
    LTR_LOWER_BINARY(div)
    LTR_LOWER_BINARY(remainder)
    LTR_LOWER_BINARY(eq)
    LTR_LOWER_BINARY(ne)
    LTR_LOWER_BINARY(lt)
    LTR_LOWER_BINARY(le)
    LTR_LOWER_BINARY(gt)
    LTR_LOWER_BINARY(ge)
    LTR_LOWER_BINARY(logical_and)
    LTR_LOWER_BINARY(logical_or)
    LTR_LOWER_BINARY(maximum)
    LTR_LOWER_BINARY(minimum)
#undef LTR_LOWER_BINARY
#undef LTR_LOWER
    case Op::pow_number: return power(to);
    case Op::relu6:
      return first() && compute(to, [&](PointProgram& p) {
               return p.step(Point::at_most, p.step(Point::relu, to.load(p, to.argument(0))), p.number(6));
             });
    case Op::leaky_relu:
      return first() && compute(to, [&](PointProgram& p) {
               const Ref x = to.load(p, to.argument(0));
               return p.step(Point::choose, p.step(Point::gt, x, p.number(0)), x,
                             p.step(Point::mul, x, p.number(number_at(to, 1))));
             });
    case Op::softplus:
      return first() && compute(to, [&](PointProgram& p) {
               const double beta = number_at(to, 1);
               const Ref x = to.load(p, to.argument(0));
               if (beta == 1) return p.step(Point::softplus, x);
               return p.step(Point::div, p.step(Point::softplus, p.step(Point::mul, x, p.number(beta))),
                             p.number(beta));
             });
    case Op::logsigmoid:
      return first() && compute(to, [&](PointProgram& p) {
               return p.step(Point::neg, p.step(Point::softplus, p.step(Point::neg, to.load(p, to.argument(0)))));
             });
    case Op::elu: return first() && elu(to, 1, number_at(to, 1));
    // Klambauer et al. 2017.
    case Op::selu: return first() && elu(to, 1.0507009873554804934193349852946, 1.6732632423543772848170429916717);
    case Op::prelu: return first() && prelu(to);
    case Op::mish:
      return first() && compute(to, [&](PointProgram& p) {
               const Ref x = to.load(p, to.argument(0));
               return p.step(Point::mul, x, p.step(Point::tanh, p.step(Point::softplus, x)));
             });
    case Op::hardswish:
      return first() && compute(to, [&](PointProgram& p) {
               const Ref x = to.load(p, to.argument(0));
               const Ref bound = p.step(Point::at_least, p.step(Point::add, x, p.number(3)), p.number(0));
               const Ref share = p.step(Point::mul, p.step(Point::at_most, bound, p.number(6)), p.number(1.0 / 6));
               return p.step(Point::mul, x, share);
             });
    case Op::glu:
      return first() &&
             halves(to, [](PointProgram& p, Ref a, Ref b) { return p.step(Point::mul, a, p.step(Point::sigmoid, b)); });
    case Op::swiglu:
      return first() &&
             halves(to, [](PointProgram& p, Ref a, Ref b) { return p.step(Point::mul, p.step(Point::silu, a), b); });
    case Op::isnan_:
      return first() && compute(to, [&](PointProgram& p) {
               const Ref x = to.load(p, to.argument(0));
               return p.step(Point::ne, x, x);
             });
    case Op::isfinite:
      return first() && compute(to, [&](PointProgram& p) {
               const Ref size = p.step(Point::abs, to.load(p, to.argument(0)));
               return p.step(Point::lt, size, p.number(std::numeric_limits<double>::infinity()));
             });
    case Op::gelu: return apply(to, node.host<Str>(1) == "tanh" ? Point::gelu_tanh : Point::gelu, 1);
    case Op::gelu_backward:
      return first() && compute(to, [&](PointProgram& p) {
               const bool is_tanh = node.host<Str>(2) == "tanh";
               const Ref slope =
                   p.step(is_tanh ? Point::gelu_tanh_slope : Point::gelu_slope, to.load(p, to.argument(1)));
               return p.step(Point::mul, to.load(p, to.argument(0)), slope);
             });
    case Op::masked_fill:
      return first() && is_number(node.arguments[2]) && compute(to, [&](PointProgram& p) {
               const Ref other = operand(to, p, node.arguments[2]);
               return p.step(Point::choose, to.load(p, to.argument(1)), other, to.load(p, to.argument(0)));
             });
    case Op::blank: return compute(to, [&](PointProgram& p) { return p.number(0); });
    case Op::zeros: return compute(to, [&](PointProgram& p) { return p.number(0); });
    case Op::ones: return compute(to, [&](PointProgram& p) { return p.number(1); });
    case Op::full: return compute(to, [&](PointProgram& p) { return operand(to, p, node.arguments[1]); });
    case Op::clamp: return first() && clamp(to);
    case Op::to: return convert(to);
    case Op::dropout:
    case Op::dropout_backward: return first() && dropout(to);
    // Forms that no strides say.
    case Op::reshape:
    case Op::flatten:
      if (!is_computable(to, node.arguments[0])) return false;
      {
        const Layout& x = to.layout(to.argument(0));
        PointProgram program = Lowering::program(x.sizes);
        program.store(to.result(), type, program.load(x, type));
        to.add(std::move(program));
        return true;
      }
    default: return false;
  }
}

}  // namespace ltr::plan
