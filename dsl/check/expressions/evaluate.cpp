#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "dsl/host/math.h"

namespace ltr::check {

namespace {

using Value = HostValue;

Value make_int(int64_t whole) { return {Value::Kind::Int, whole, double(whole), ""}; }
Value make_float(double real) { return {Value::Kind::Float, 0, real, ""}; }
Value make_bool(bool value) { return {Value::Kind::Bool, value ? 1 : 0, value ? 1.0 : 0.0, ""}; }

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

std::optional<Value> binary(host::Op op, const Value& a, const Value& b) {
  if (a.kind != Value::Kind::Str && b.kind != Value::Kind::Str)
    return value_of(host::fold(op, number_of(a), number_of(b)));
  if (a.kind != b.kind || (op != host::Op::Equal && op != host::Op::NotEqual)) return std::nullopt;
  return make_bool((a.text == b.text) == (op == host::Op::Equal));
}

std::optional<Value> unary(host::Op op, const Value& a) {
  return a.kind == Value::Kind::Str ? std::nullopt : value_of(host::fold(op, number_of(a)));
}

/// The value of one node.
struct Evaluator {
  const ExprView& expr;
  const Program& program;

  std::optional<Value> of(ExprId id) const { return evaluate(program.exprs[id], program); }

  std::optional<Value> value(const node::IntConst& constant) const { return make_int(constant.value); }
  std::optional<Value> value(const node::FloatConst& constant) const { return make_float(constant.value); }
  std::optional<Value> value(const node::BoolConst& constant) const { return make_bool(constant.value); }
  std::optional<Value> value(const node::StrConst& constant) const {
    return Value{Value::Kind::Str, 0, 0, constant.text};
  }
  std::optional<Value> value(const node::Hparam& use) const {
    const Hparam* hparam = program.find_hparam(use.name);
    return hparam != nullptr ? hparam->value : std::nullopt;
  }
  std::optional<Value> value(const node::Convert& convert) const {
    const auto value = of(convert.value);
    if (value && expr.type.kind == Kind::Float) return make_float(value->real);
    return value && expr.type.kind == Kind::Int && value->kind == Value::Kind::Int ? value : std::nullopt;
  }
  std::optional<Value> value(const node::Not& negation) const {
    const auto value = of(negation.value);
    return value ? std::optional(make_bool(value->whole == 0)) : std::nullopt;
  }
  std::optional<Value> value(const node::And& both) const {
    const auto a = of(both.left), b = of(both.right);
    if ((a && a->whole == 0) || (b && b->whole == 0)) return make_bool(false);
    return a && b ? std::optional(make_bool(true)) : std::nullopt;
  }
  std::optional<Value> value(const node::Or& either) const {
    const auto a = of(either.left), b = of(either.right);
    if ((a && a->whole != 0) || (b && b->whole != 0)) return make_bool(true);
    return a && b ? std::optional(make_bool(false)) : std::nullopt;
  }
  std::optional<Value> value(const node::Equal& equal) const {
    const auto a = of(equal.left), b = of(equal.right);
    if (program.exprs[equal.right].is<node::NoneConst>()) {
      if (program.exprs[equal.left].is<node::NoneConst>()) return make_bool(true);
      return a ? std::optional(make_bool(false)) : std::nullopt;
    }
    return a && b ? binary(host::Op::Equal, *a, *b) : std::nullopt;
  }
  std::optional<Value> value(const node::In& in) const {
    const auto a = of(in.value);
    if (!a) return std::nullopt;
    const ExprView& set = program.exprs[in.set];
    if (const auto* range = set.get<node::Range>()) {
      const auto from = of(range->from), to = of(range->to);
      if (!from || !to) return std::nullopt;
      return make_bool(a->real >= from->real && a->real < to->real);
    }
    const auto* list = set.get<node::List>();
    if (list == nullptr) return std::nullopt;
    for (const ExprId element : list->elements) {
      const auto value = of(element);
      if (!value) return std::nullopt;
      const auto same = binary(host::Op::Equal, *a, *value);
      if (!same) return std::nullopt;
      if (same->whole != 0) return make_bool(true);
    }
    return make_bool(false);
  }
  /// The part of a tuple, list or record that is written; `expr` itself where it is no part.
  std::optional<ExprId> written(ExprId id) const {
    const ExprView& whole = program.exprs[id];
    if (const auto* convert = whole.get<node::Convert>()) return written(convert->value);
    if (const auto* part = whole.get<node::TupleElement>()) return written_part(*part);
    if (const auto* part = whole.get<node::ListElement>()) return written_part(*part);
    if (const auto* part = whole.get<node::RecordField>()) return written_part(*part);
    return id;
  }
  static std::optional<ExprId> nth(const ExprIds& parts, int64_t index) {
    if (index < 0) index += int64_t(parts.size());
    return index >= 0 && size_t(index) < parts.size() ? std::optional(parts[size_t(index)]) : std::nullopt;
  }
  std::optional<ExprId> written_part(const node::TupleElement& part) const {
    const auto tuple = written(part.tuple);
    const auto* parts = tuple ? program.exprs[*tuple].get<node::Tuple>() : nullptr;
    return parts != nullptr ? nth(parts->elements, part.index) : std::nullopt;
  }
  std::optional<ExprId> written_part(const node::ListElement& part) const {
    const auto list = written(part.list);
    const auto* parts = list ? program.exprs[*list].get<node::List>() : nullptr;
    const auto index = parts != nullptr ? of(part.index) : std::nullopt;
    return index ? nth(parts->elements, index->whole) : std::nullopt;
  }
  std::optional<ExprId> written_part(const node::RecordField& part) const {
    const auto record = written(part.record);
    const auto* parts = record ? program.exprs[*record].get<node::Record>() : nullptr;
    if (parts == nullptr) return std::nullopt;
    const auto& fields = program.exprs[*record].type.fields;
    const auto found = std::ranges::find(fields, part.name, &TypeField::name);
    return found != fields.end() ? nth(parts->values, found - fields.begin()) : std::nullopt;
  }
  std::optional<Value> value_of_part(const auto& part) const {
    const auto found = written_part(part);
    return found ? of(*found) : std::nullopt;
  }
  std::optional<Value> value(const node::TupleElement& part) const { return value_of_part(part); }
  std::optional<Value> value(const node::ListElement& part) const { return value_of_part(part); }
  std::optional<Value> value(const node::RecordField& part) const { return value_of_part(part); }
  std::optional<Value> value(const node::ListLength& length) const {
    const auto part = written(length.list);
    if (!part) return std::nullopt;
    const ExprView& list = program.exprs[*part];
    if (const auto* written = list.get<node::List>()) return make_int(int64_t(written->elements.size()));
    const auto* use = list.get<node::Hparam>();
    const Hparam* hparam = use != nullptr ? program.find_hparam(use->name) : nullptr;
    return hparam != nullptr ? hparam->length : std::nullopt;
  }
  std::optional<Value> value(const node::Host& host) const {
    const auto a = of(host.args[0]);
    if (!a) return std::nullopt;
    if (host.args.size() == 1) return unary(host.op, *a);
    const auto b = of(host.args[1]);
    return b ? binary(host.op, *a, *b) : std::nullopt;
  }
  /// The characters of a text that is written.
  std::optional<Value> value(const node::Op& op) const {
    const auto* text = op.op == library::Id::TextLength ? program.exprs[op.args[0]].get<node::StrConst>() : nullptr;
    if (text == nullptr) return std::nullopt;
    return make_int(std::ranges::count_if(text->text, [](char byte) { return (byte & 0xC0) != 0x80; }));
  }
  /// All else has a value only where it stands.
  std::optional<Value> value(const auto&) const { return std::nullopt; }
};

}  // namespace

std::optional<HostValue> evaluate(const ExprView& expr, const Program& program) {
  return std::visit([&](const auto& node) { return Evaluator{expr, program}.value(node); }, expr.node);
}

bool reads_hparam(const ExprView& expr, const Program& program) {
  return expr.is<node::Hparam>() ||
         any_child(expr, [&](ExprId child) { return reads_hparam(program.exprs[child], program); });
}

}  // namespace ltr::check
