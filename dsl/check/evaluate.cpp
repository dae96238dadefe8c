#include <cmath>

#include "dsl/check/evaluate.h"

namespace ltr::check {

namespace {

using Value = HostValue;

Value make_int(int64_t whole) {
  return {Value::Kind::Int, whole, double(whole), ""};
}
Value make_float(double real) {
  return {Value::Kind::Float, 0, real, ""};
}
Value make_bool(bool value) {
  return {Value::Kind::Bool, value ? 1 : 0, value ? 1.0 : 0.0, ""};
}

std::optional<Value> binary(const std::string& op, const Value& a, const Value& b) {
  const bool whole = a.kind == Value::Kind::Int && b.kind == Value::Kind::Int;
  if (op == "==")
    return make_bool(a.kind == Value::Kind::Str ? a.text == b.text : a.real == b.real);
  if (op == "!=")
    return make_bool(a.kind == Value::Kind::Str ? a.text != b.text : a.real != b.real);
  if (op == "<") return make_bool(a.real < b.real);
  if (op == "<=") return make_bool(a.real <= b.real);
  if (op == ">") return make_bool(a.real > b.real);
  if (op == ">=") return make_bool(a.real >= b.real);
  if (whole && (op == "//" || op == "%" || op == "/" || op == "ceil") && b.whole == 0)
    return std::nullopt;
  const auto floor_of = [](int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
  };
  if (op == "+") return whole ? make_int(a.whole + b.whole) : make_float(a.real + b.real);
  if (op == "-") return whole ? make_int(a.whole - b.whole) : make_float(a.real - b.real);
  if (op == "*") return whole ? make_int(a.whole * b.whole) : make_float(a.real * b.real);
  if (op == "/") return whole ? make_int(a.whole / b.whole) : make_float(a.real / b.real);
  if (op == "//" && whole) return make_int(floor_of(a.whole, b.whole));
  if (op == "ceil" && whole) return make_int(-floor_of(-a.whole, b.whole));
  if (op == "%")
    return whole ? make_int(a.whole - floor_of(a.whole, b.whole) * b.whole)
                 : make_float(std::fmod(a.real, b.real));
  if (op == "min")
    return whole ? make_int(std::min(a.whole, b.whole)) : make_float(std::min(a.real, b.real));
  if (op == "max")
    return whole ? make_int(std::max(a.whole, b.whole)) : make_float(std::max(a.real, b.real));
  if (op == "**" || op == "pow") {
    const double power = std::pow(a.real, b.real);
    return whole ? make_int(int64_t(power)) : make_float(power);
  }
  return std::nullopt;
}

std::optional<Value> unary(const std::string& op, const Value& a) {
  if (op == "neg") return a.kind == Value::Kind::Int ? make_int(-a.whole) : make_float(-a.real);
  if (op == "abs")
    return a.kind == Value::Kind::Int ? make_int(std::abs(a.whole)) : make_float(std::fabs(a.real));
  if (op == "floor") return make_int(int64_t(std::floor(a.real)));
  if (op == "ceil") return make_int(int64_t(std::ceil(a.real)));
  if (op == "round") return make_int(int64_t(std::nearbyint(a.real)));
  if (op == "sqrt") return make_float(std::sqrt(a.real));
  if (op == "exp") return make_float(std::exp(a.real));
  if (op == "log") return make_float(std::log(a.real));
  return std::nullopt;
}

}  // namespace

std::optional<HostValue> evaluate(const Expr& expr, const Program& program) {
  return evaluate(expr, program, [](const Expr&) { return std::nullopt; });
}

std::optional<HostValue> evaluate(const Expr& expr, const Program& program, const Lookup& lookup) {
  const auto arg = [&](size_t i) { return evaluate(expr.args[i], program, lookup); };
  switch (expr.kind) {
    case ExprKind::IntConst:
      return make_int(expr.whole);
    case ExprKind::FloatConst:
      return make_float(expr.number);
    case ExprKind::BoolConst:
      return make_bool(expr.whole != 0);
    case ExprKind::StrConst:
      return Value{Value::Kind::Str, 0, 0, expr.name};
    case ExprKind::Hparam:
      for (const Hparam& hparam : program.hparams) {
        if (hparam.name == expr.name) return evaluate(hparam.initial, program);
      }
      return std::nullopt;
    case ExprKind::Convert: {
      auto value = arg(0);
      if (value && expr.type.kind == Kind::Float) return make_float(value->real);
      return std::nullopt;
    }
    case ExprKind::Not: {
      const auto value = arg(0);
      return value ? std::optional(make_bool(value->whole == 0)) : std::nullopt;
    }
    case ExprKind::And:
    case ExprKind::Or: {
      const auto a = arg(0), b = arg(1);
      if (!a || !b) return std::nullopt;
      return make_bool(expr.kind == ExprKind::And ? a->whole != 0 && b->whole != 0
                                                  : a->whole != 0 || b->whole != 0);
    }
    case ExprKind::Equal: {
      const auto a = arg(0), b = arg(1);
      return a && b ? binary("==", *a, *b) : std::nullopt;
    }
    case ExprKind::In: {
      const auto a = arg(0);
      if (!a) return std::nullopt;
      const Expr& set = expr.args[1];
      if (set.kind == ExprKind::Range) {
        const auto from = evaluate(set.args[0], program, lookup), to = evaluate(set.args[1], program, lookup);
        if (!from || !to) return std::nullopt;
        return make_bool(a->real >= from->real && a->real < to->real);
      }
      for (const Expr& element : set.args) {
        const auto value = evaluate(element, program, lookup);
        if (!value) return std::nullopt;
        if (binary("==", *a, *value)->whole != 0) return make_bool(true);
      }
      return make_bool(false);
    }
    case ExprKind::Host: {
      const auto a = arg(0);
      if (!a) return std::nullopt;
      if (expr.args.size() == 1) return unary(expr.name, *a);
      const auto b = arg(1);
      return b ? binary(expr.name, *a, *b) : std::nullopt;
    }
    default:
      return lookup(expr);
  }
}

}  // namespace ltr::check
