#include "dsl/check/expressions/evaluate.h"

#include "dsl/check/host_math.h"

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

host::Number number_of(const Value& value) {
  if (value.kind == Value::Kind::Bool) return value.whole != 0;
  if (value.kind == Value::Kind::Int) return value.whole;
  return value.real;
}

std::optional<Value> value_of(const std::optional<host::Number>& number) {
  if (!number) return std::nullopt;
  if (const bool* flag = std::get_if<bool>(&*number)) return make_bool(*flag);
  if (const int64_t* whole = std::get_if<int64_t>(&*number)) return make_int(*whole);
  return make_float(std::get<double>(*number));
}

std::optional<Value> binary(const std::string& op, const Value& a, const Value& b) {
  if (a.kind != Value::Kind::Str && b.kind != Value::Kind::Str)
    return value_of(host::fold(op, number_of(a), number_of(b)));
  if (a.kind != b.kind || (op != "==" && op != "!=")) return std::nullopt;
  return make_bool((a.text == b.text) == (op == "=="));
}

std::optional<Value> unary(const std::string& op, const Value& a) {
  return a.kind == Value::Kind::Str ? std::nullopt : value_of(host::fold(op, number_of(a)));
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
      if (set.kind != ExprKind::List) return std::nullopt;
      for (const Expr& element : set.args) {
        const auto value = evaluate(element, program, lookup);
        if (!value) return std::nullopt;
        const auto same = binary("==", *a, *value);
        if (!same) return std::nullopt;
        if (same->whole != 0) return make_bool(true);
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
