#include <algorithm>
#include <cmath>

#include "dsl/check/host_math.h"
#include "dsl/elaborate/machine.h"

/// Expressions.
namespace ltr::elaborate {

using check::Expr;
using check::ExprKind;
using check::Kind;

namespace {

/// The entries of the tape and the weights that a value holds.
void collect(const Value& value, Operation& operation) {
  if (value.kind == Value::Kind::Tensor) {
    if (value.weight) {
      operation.weights.push_back(*value.weight);
    } else if (value.node >= 0) {
      operation.inputs.push_back(value.node);
    }
  }
  for (const Value& item : value.items) collect(item, operation);
}

void set_node(Value& value, int32_t node) {
  if (value.kind == Value::Kind::Tensor) value.node = node;
  for (Value& item : value.items) set_node(item, node);
}

std::optional<host::Number> number_of(const Value& value) {
  if (value.kind == Value::Kind::Bool) return value.whole != 0;
  if (value.kind == Value::Kind::Int) return value.whole;
  if (value.kind == Value::Kind::Float) return value.real;
  return std::nullopt;
}

Value value_of(const host::Number& number) {
  if (const bool* flag = std::get_if<bool>(&number)) return Value::of_bool(*flag);
  if (const int64_t* whole = std::get_if<int64_t>(&number)) return Value::of_int(*whole);
  return Value::of_float(std::get<double>(number));
}

std::optional<bool> equal(const Value& a, const Value& b) {
  if (a.kind == Value::Kind::Str && b.kind == Value::Kind::Str) return a.text == b.text;
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.kind == Value::Kind::Bool && b.kind == Value::Kind::Bool) return a.whole == b.whole;
  if (a.kind == Value::Kind::List && b.kind == Value::Kind::List) {
    if (a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i) {
      const auto same = equal(a.items[i], b.items[i]);
      if (!same || !*same) return same;
    }
    return true;
  }
  return std::nullopt;
}

Value of_flag(std::optional<bool> flag) {
  return flag ? Value::of_bool(*flag) : Value{};
}

}  // namespace

Value Machine::host(const Expr& expr, Frame& frame) {
  std::vector<Value> args;
  for (const Expr& arg : expr.args) args.push_back(eval(arg, frame));
  if (args.size() == 2 && (expr.name == "==" || expr.name == "!=")) {
    auto same = equal(args[0], args[1]);
    if (same && expr.name == "!=") same = !*same;
    return of_flag(same);
  }
  std::vector<host::Number> numbers;
  for (const Value& arg : args) {
    if (const auto number = number_of(arg)) numbers.push_back(*number);
  }
  std::optional<host::Number> result;
  if (numbers.size() == args.size() && args.size() == 1) result = host::fold(expr.name, numbers[0]);
  if (numbers.size() == args.size() && args.size() == 2)
    result = host::fold(expr.name, numbers[0], numbers[1]);
  return result ? elaborate::value_of(*result) : value_of(expr.type, frame);
}

Value Machine::element(const Value& list,
                       const Value& index,
                       const check::Type& type,
                       const Frame& frame) {
  if (list.kind != Value::Kind::List || index.kind != Value::Kind::Int)
    return value_of(type, frame);
  const int64_t at = index.whole < 0 ? index.whole + int64_t(list.items.size()) : index.whole;
  if (at < 0 || at >= int64_t(list.items.size())) return value_of(type, frame);
  return list.items[size_t(at)];
}

Value Machine::member(const Expr& expr, Frame& frame) {
  const Value base = eval(expr.args[0], frame);
  if (base.kind != Value::Kind::Object) return value_of(expr.type, frame);
  const Object& object = plan_.tree.objects[size_t(base.whole)];
  const Value* found = expr.whole == 1 ? nullptr : object.find(expr.name);
  if (found == nullptr) {
    const auto param = object.params.find(expr.name);
    if (param == object.params.end()) return value_of(expr.type, frame);
    found = &param->second;
  }
  return *found;
}

Value Machine::data_member(const Expr& expr) {
  const Object& object = plan_.tree.objects[*data];
  const auto param = object.params.find(expr.name);
  if (expr.whole == 1 && param != object.params.end()) return param->second;
  const auto given = options_.data.find("data." + expr.name);
  if (given != options_.data.end()) return Value::of_int(given->second);
  const check::Object& decl = decl_of(object);
  for (const check::Member& member : decl.members) {
    if (member.name != expr.name) continue;
    Frame frame;
    frame.locals = &decl.locals;
    frame.self = data;
    for (size_t i = 0; i < decl.params.size(); ++i) {
      const auto value = object.params.find(decl.params[i].name);
      if (value != object.params.end()) frame.values[check::LocalId(i)] = value->second;
    }
    Value value = eval(member.value, frame);
    if (value.kind == Value::Kind::Unknown || value.kind == Value::Kind::Call)
      value.text = expr.name;
    return value;
  }
  return {};
}

Value Machine::comprehension(const Expr& expr, Frame& frame) {
  const Value from = eval(expr.args[0], frame), to = eval(expr.args[1], frame);
  Value result;
  if (from.kind != Value::Kind::Int || to.kind != Value::Kind::Int) {
    unknown("how long the list is", expr.span);
    return result;
  }
  result.kind = Value::Kind::List;
  for (int64_t i = from.whole; i < to.whole; ++i) {
    if (frame.locals != nullptr && expr.local < frame.locals->size()) {
      const check::Type& type = (*frame.locals)[expr.local].type;
      if (type.value && type.value->single_atom())
        frame.sizes.atoms.erase(*type.value->single_atom());
    }
    assign(expr.local, Value::of_int(i), frame);
    result.items.push_back(eval(expr.args[2], frame));
  }
  return result;
}

// The rounds differ in nothing that is counted, but each has its own place on the tape: what is
// carried from one to the next is how the gradient goes back.
Value Machine::scan(const Expr& expr, Frame& frame) {
  Value element = eval(expr.args[0], frame);
  const int64_t rank = int64_t(element.dims.size());
  const int64_t axis = expr.whole < 0 ? expr.whole + rank : expr.whole;
  Size rounds;
  if (element.kind == Value::Kind::Tensor && axis >= 0 && axis < rank) {
    rounds = element.dims[size_t(axis)];
    element.dims.erase(element.dims.begin() + long(axis));
    element.weight.reset();
  }
  if (!rounds || *rounds > kMaxRounds) {
    unknown("how often the scan runs; one round is counted", expr.span);
    rounds = 1;
  }
  for (size_t i = 1; i < expr.locals.size() && i < expr.args.size(); ++i)
    assign(expr.locals[i], eval(expr.args[i], frame), frame);
  Operation stacked;
  stacked.function = library::Id::Stack;
  stacked.span = expr.span;
  stacked.object = frame.self.value_or(plan_.tree.model);
  for (int64_t i = 0; i < *rounds; ++i) {
    assign(expr.locals[0], element, frame);
    run(expr.body, frame);
    collect(yielded_, stacked);
  }
  Value result = value_of(expr.type, frame);
  if (!is_tracing) return result;
  count_cost(stacked, {}, result);
  set_node(result, int32_t(plan_.tape.size()));
  plan_.tape.push_back(std::move(stacked));
  return result;
}

Value Machine::op(const Expr& expr, Frame& frame) {
  std::vector<Value> args;
  for (const Expr& arg : expr.args) args.push_back(eval(arg, frame));
  if (expr.op == library::Id::OrElse && args.size() == 2)
    return args[0].kind == Value::Kind::None ? args[1] : args[0];
  if (expr.op == library::Id::Vocab && !expr.args.empty()) {
    const std::string let = expr.args[0].kind == ExprKind::DataMember ? expr.args[0].name : "";
    const auto given = options_.data.find("data." + let + ".vocab");
    if (given != options_.data.end()) return Value::of_int(given->second);
    const Value* file = args[0].find("file");
    const Size count =
        file != nullptr && file->kind == Value::Kind::Str && options_.count_characters
            ? options_.count_characters(file->text)
            : std::nullopt;
    if (count) return Value::of_int(*count);
    unknown("data." + let + ".vocab, as its file is not here; `--set data." + let +
                ".vocab=N` gives it",
            expr.span);
    return {};
  }
  if (expr.type.kind == Kind::Stream) {
    // Kept so that what is asked of a source can be answered.
    Value source;
    source.kind = Value::Kind::Call;
    source.text = library::info(expr.op).name;
    if (expr.op == library::Id::TextChars && !args.empty()) {
      source.names = {"file"};
      source.items = {args[0]};
    }
    return source;
  }
  Value result = value_of(expr.type, frame);
  if (!is_tracing) return result;
  Operation operation;
  operation.function = expr.op;
  operation.span = expr.span;
  operation.object = frame.self.value_or(plan_.tree.model);
  for (const Value& arg : args) collect(arg, operation);
  const bool has_tensor = result.kind == Value::Kind::Tensor || result.kind == Value::Kind::List;
  if (!has_tensor) return result;
  count_cost(operation, args, result);
  if (!operation.flops)
    unknown("the sizes of `" + std::string(library::info(expr.op).name) + "`, which is not counted", expr.span);
  set_node(result, int32_t(plan_.tape.size()));
  plan_.tape.push_back(std::move(operation));
  return result;
}

Value Machine::eval(const Expr& expr, Frame& frame) {
  const auto arg = [&](size_t i) { return eval(expr.args[i], frame); };
  const auto args = [&](size_t from) {
    std::vector<Value> values;
    for (size_t i = from; i < expr.args.size(); ++i) values.push_back(arg(i));
    return values;
  };
  switch (expr.kind) {
    case ExprKind::IntConst:
      return Value::of_int(expr.whole);
    case ExprKind::FloatConst:
      return Value::of_float(expr.number);
    case ExprKind::BoolConst:
      return Value::of_bool(expr.whole != 0);
    case ExprKind::StrConst:
    case ExprKind::Symbol:
      return Value::of_str(expr.name);
    case ExprKind::NoneConst:
      return Value::none();
    case ExprKind::Local: {
      const auto known = frame.values.find(expr.local);
      return known == frame.values.end() ? value_of(expr.type, frame) : known->second;
    }
    case ExprKind::Self: {
      Value self;
      if (!frame.self) return self;
      self.kind = Value::Kind::Object;
      self.whole = int64_t(*frame.self);
      return self;
    }
    case ExprKind::Member:
      return member(expr, frame);
    case ExprKind::Hparam:
      for (const auto& [name, value] : plan_.hparams) {
        if (name == expr.name) return value;
      }
      return {};
    case ExprKind::DataMember:
      return data ? data_member(expr) : Value{};
    case ExprKind::Context:
      return expr.name == "world" ? Value::of_int(options_.world) : value_of(expr.type, frame);
    case ExprKind::Op:
      return op(expr, frame);
    case ExprKind::CallFn:
      return call(expr.fn, frame.self, args(0));
    case ExprKind::CallMethod: {
      const Value object = arg(0);
      if (object.kind != Value::Kind::Object) return value_of(expr.type, frame);
      return call(expr.fn, ObjectId(object.whole), args(1));
    }
    case ExprKind::ApplyList: {
      const Value list = arg(0);
      Value value = arg(1);
      if (list.kind != Value::Kind::List) {
        unknown("how long the list is", expr.span);
        return value_of(expr.type, frame);
      }
      for (const Value& part : list.items) {
        assign(expr.locals[0], part, frame);
        assign(expr.locals[1], std::move(value), frame);
        value = arg(2);
      }
      return value;
    }
    case ExprKind::Construct:
      return construct(expr.type, args(0));
    case ExprKind::List:
    case ExprKind::Tuple: {
      Value list;
      list.kind = Value::Kind::List;
      list.items = args(0);
      if (expr.type.kind == Kind::Weights) {
        list.weights = weights_of(list);
        list.kind = Value::Kind::Weights;
        list.items.clear();
      }
      return list;
    }
    case ExprKind::Record: {
      Value record;
      record.kind = Value::Kind::Record;
      record.items = args(0);
      for (const check::TypeField& field : expr.type.fields) record.names.push_back(field.name);
      return record;
    }
    case ExprKind::RecordField: {
      const Value record = arg(0);
      const Value* field = record.find(expr.name);
      return field != nullptr ? *field : value_of(expr.type, frame);
    }
    case ExprKind::TupleElement:
      return element(arg(0), Value::of_int(int64_t(expr.number)), expr.type, frame);
    case ExprKind::ListElement:
      return element(arg(0), arg(1), expr.type, frame);
    case ExprKind::ListLength: {
      const Value list = arg(0);
      return list.kind == Value::Kind::List ? Value::of_int(int64_t(list.items.size()))
                                            : value_of(expr.type, frame);
    }
    case ExprKind::Comprehension:
      return comprehension(expr, frame);
    case ExprKind::Shape:
    case ExprKind::SizeOf: {
      const Value tensor = arg(0);
      if (tensor.kind != Value::Kind::Tensor) return value_of(expr.type, frame);
      Value sizes;
      sizes.kind = Value::Kind::List;
      for (const Size& size : tensor.dims)
        sizes.items.push_back(size ? Value::of_int(*size) : Value{});
      if (expr.kind == ExprKind::Shape) return sizes;
      return element(sizes, Value::of_int(int64_t(expr.number)), expr.type, frame);
    }
    case ExprKind::If: {
      const Value condition = arg(0);
      if (condition.kind == Value::Kind::Bool) return arg(condition.whole != 0 ? 1 : 2);
      unknown("which branch is taken; the first is counted", expr.span);
      return arg(1);
    }
    case ExprKind::And:
    case ExprKind::Or: {
      const Value left = arg(0);
      if (left.kind != Value::Kind::Bool) return {};
      const bool decides = (left.whole != 0) == (expr.kind == ExprKind::Or);
      return decides ? left : arg(1);
    }
    case ExprKind::Not: {
      const Value value = arg(0);
      return value.kind == Value::Kind::Bool ? Value::of_bool(value.whole == 0) : Value{};
    }
    case ExprKind::Host:
      return host(expr, frame);
    case ExprKind::In: {
      const Value value = arg(0);
      if (expr.args[1].kind == ExprKind::Range) {
        const Value low = eval(expr.args[1].args[0], frame),
                    high = eval(expr.args[1].args[1], frame);
        if (!value.is_number() || !low.is_number() || !high.is_number()) return {};
        return Value::of_bool(value.number() >= low.number() && value.number() < high.number());
      }
      const Value list = arg(1);
      for (const Value& item : list.items) {
        const auto same = equal(value, item);
        if (!same) return {};
        if (*same) return Value::of_bool(true);
      }
      return list.kind == Value::Kind::List ? Value::of_bool(false) : Value{};
    }
    case ExprKind::Equal:
      return of_flag(equal(arg(0), arg(1)));
    case ExprKind::Convert: {
      Value value = arg(0);
      if (expr.type.kind == Kind::Float && value.kind == Value::Kind::Int)
        return Value::of_float(double(value.whole));
      if (expr.type.is_tensor() && value.kind != Value::Kind::Tensor)
        return value_of(expr.type, frame);
      return value;
    }
    case ExprKind::CallExtern:
      return op(expr, frame);
    case ExprKind::CheckShape:
    case ExprKind::CheckResult: {
      // It stays the same tensor; the type knows sizes that the value may lack.
      Value value = arg(0);
      const Value typed = value_of(expr.type, frame);
      if (value.kind != Value::Kind::Tensor) return typed;
      for (size_t i = 0; i < value.dims.size() && i < typed.dims.size(); ++i) {
        if (!value.dims[i]) value.dims[i] = typed.dims[i];
      }
      return value;
    }
    case ExprKind::Weights: {
      Value result;
      result.kind = Value::Kind::Weights;
      result.weights = weights_of(arg(0));
      return result;
    }
    case ExprKind::Frozen:
      return arg(0);
    case ExprKind::LetIn:
      assign(expr.local, arg(0), frame);
      return arg(1);
    case ExprKind::Scan:
      return scan(expr, frame);
    case ExprKind::CallValue:
      args(1);
      unknown("what the function value computes, which is not counted", expr.span);
      return value_of(expr.type, frame);
    case ExprKind::Function:
    case ExprKind::FnValue: {
      Value value;
      value.kind = Value::Kind::Function;
      value.whole = int64_t(expr.fn);
      return value;
    }
    case ExprKind::Call: {
      Value result;
      result.kind = Value::Kind::Call;
      result.text = expr.name;
      result.items = args(0);
      result.names = expr.formats;
      return result;
    }
    case ExprKind::CallMetric:
      for (size_t i = 1; i < expr.args.size(); ++i) arg(i);
      return {};
    case ExprKind::Quantity: {
      Value value = Value::of_float(expr.number);
      value.text = expr.name;
      return value;
    }
    case ExprKind::Series:
    case ExprKind::ModelOf:
    case ExprKind::MetricSeries:
    case ExprKind::Range:
    case ExprKind::Interpolate:
    case ExprKind::MapStage:
    case ExprKind::FilterStage:
    case ExprKind::Error:
      break;
  }
  return {};
}

}  // namespace ltr::elaborate
