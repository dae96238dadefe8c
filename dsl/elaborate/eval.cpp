#include <algorithm>
#include <cmath>

#include "dsl/check/walk.h"
#include "dsl/elaborate/host_value.h"
#include "dsl/elaborate/machine.h"
#include "dsl/host/math.h"

/// Expressions.
namespace ltr::elaborate {

using check::Expr;
using check::ExprId;
using check::ExprIds;
using check::ExprView;
using check::Kind;
namespace node = check::node;

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

Value of_flag(std::optional<bool> flag) { return flag ? Value::of_bool(*flag) : Value{}; }

bool is_object(const check::Type& type) {
  return type.kind == Kind::Block || type.kind == Kind::Model || type.kind == Kind::Data || type.kind == Kind::Metric ||
         type.kind == Kind::CallbackValue;
}

}  // namespace

/// Evaluates one expression.
struct Machine::ExprRunner {
  Machine& machine;
  const ExprView& expr;
  Frame& frame;

  Value eval(ExprId id) const { return machine.eval(id, frame); }
  std::vector<Value> eval(const ExprIds& ids) const {
    std::vector<Value> values;
    for (const ExprId id : ids) values.push_back(eval(id));
    return values;
  }
  /// What the type tells of a value.
  Value typed() const { return machine.value_of(expr.type, frame); }
  /// Likewise where its code does not.
  Value or_typed(Value value) const { return value.kind == Value::Kind::Unknown ? typed() : value; }

  Value operator()(const node::Error&) const { return {}; }
  Value operator()(const node::IntConst& constant) const { return Value::of_int(constant.value); }
  Value operator()(const node::FloatConst& constant) const { return Value::of_float(constant.value); }
  Value operator()(const node::BoolConst& constant) const { return Value::of_bool(constant.value); }
  Value operator()(const node::StrConst& constant) const { return Value::of_str(constant.text); }
  Value operator()(const node::NoneConst&) const { return Value::none(); }
  Value operator()(const node::Symbol& symbol) const { return Value::of_str(symbol.text); }
  Value operator()(const node::Quantity& quantity) const {
    Value value = Value::of_float(quantity.value);
    value.text = host::to_text(quantity.measure);
    return value;
  }
  Value operator()(const node::Series&) const { return {}; }

  Value operator()(const node::Local& local) const {
    const auto known = frame.values.find(local.local);
    return known == frame.values.end() ? typed() : known->second;
  }
  Value operator()(const node::Self&) const {
    Value self;
    if (!frame.self) return self;
    self.kind = Value::Kind::Object;
    self.whole = int64_t(*frame.self);
    return self;
  }
  Value operator()(const node::Member& member) const {
    const Value base = eval(member.object);
    if (base.kind != Value::Kind::Object) return typed();
    const Object& object = machine.plan_.tree.objects[size_t(base.whole)];
    const Value* found = member.is_param ? nullptr : object.find(member.name);
    if (found != nullptr) return *found;
    const auto param = object.params.find(member.name);
    return param == object.params.end() ? typed() : param->second;
  }
  Value operator()(const node::Hparam& hparam) const {
    for (const auto& [name, value] : machine.plan_.hparams) {
      if (name == hparam.name) return value;
    }
    return {};
  }
  Value operator()(const node::DataMember& member) const { return machine.data ? data_member(member) : Value{}; }
  Value operator()(const node::Context& context) const {
    return context.name == "world" && !machine.is_exact() ? Value::of_int(machine.options_.world) : typed();
  }
  Value operator()(const node::ModelOf&) const { return {}; }
  Value operator()(const node::MetricSeries&) const { return {}; }
  Value operator()(const node::FnValue& function) const { return function_value(function.fn); }
  Value operator()(const node::Function& function) const {
    Value closure;
    closure.kind = Value::Kind::Closure;
    closure.items.push_back(frame.place ? machine.eval_at(*frame.place, machine.program_.exprs[function.value], frame)
                                        : eval(function.value));
    closure.whole = int64_t(machine.closures_.size());
    machine.assign(function.local, closure.items[0], frame);
    machine.closures_.push_back({&function, frame});
    machine.closures_.back().frame.place.reset();
    return closure;
  }

  Value operator()(const node::Op& op) const {
    const std::vector<Value> args = eval(op.args);
    const std::string path = data_path(op);
    return path.empty() ? call(op.op, args) : told_by_data(op, path, args);
  }
  Value operator()(const node::CallExtern& extern_call) const {
    return call(library::Id::None, eval(extern_call.args));
  }
  Value operator()(const node::CallFn& function) const {
    return or_typed(machine.call(function.fn, frame.self, eval(function.args)));
  }
  Value operator()(const node::CallMethod& method) const {
    const Value object = eval(method.object);
    if (object.kind != Value::Kind::Object) return typed();
    return or_typed(machine.call(method.fn, ObjectId(object.whole), eval(method.args)));
  }
  Value operator()(const node::CallMetric& update) const {
    eval(update.args);
    return {};
  }
  Value operator()(const node::CallValue& call) const {
    const Value function = eval(call.callee);
    std::vector<Value> args = eval(call.args);
    if (function.kind == Value::Kind::Closure) return or_typed(machine.apply(function, std::move(args)));
    machine.unknown("what the function value computes, which is not counted", expr.span);
    return typed();
  }
  Value operator()(const node::Construct& built) const {
    if (!is_object(expr.type)) return {};
    const auto given = [&](size_t i, const std::string& param) { return placed(built.args[i], param); };
    const Machine::Arguments args{built.args.size(), given};
    if (expr.type.kind != Kind::Block) return machine.construct(expr.type, args, std::nullopt);
    return machine.construct(machine.is_exact() ? machine.in_terms(expr.type, frame) : expr.type, args, frame.place);
  }
  Value operator()(const node::Call& call) const {
    Value result;
    result.kind = Value::Kind::Call;
    result.text = call.name;
    for (const node::NamedArg& arg : call.args) {
      result.names.push_back(arg.name);
      result.items.push_back(eval(arg.value));
    }
    return result;
  }
  Value operator()(const node::MapStage&) const { return {}; }
  Value operator()(const node::FilterStage&) const { return {}; }

  Value operator()(const node::List& list) const { return sequence(list.elements); }
  Value operator()(const node::Tuple& tuple) const { return sequence(tuple.elements); }
  Value operator()(const node::Record& record) const {
    Value result;
    result.kind = Value::Kind::Record;
    for (const check::TypeField& field : expr.type.fields) result.names.push_back(field.name);
    for (size_t i = 0; i < record.values.size() && i < result.names.size(); ++i)
      result.items.push_back(placed(record.values[i], result.names[i]));
    result.place = place_of_parts();
    return result;
  }
  Value operator()(const node::RecordField& field) const {
    const Value record = eval(field.record);
    const Value* found = record.find(field.name);
    return found != nullptr ? *found : typed();
  }
  Value operator()(const node::TupleElement& part) const {
    return element(eval(part.tuple), Value::of_int(part.index));
  }
  Value operator()(const node::ListElement& part) const {
    const Value list = eval(part.list);
    return element(list, eval(part.index));
  }
  Value operator()(const node::ListLength& length) const {
    const Value list = eval(length.list);
    return list.kind == Value::Kind::List ? Value::of_int(int64_t(list.items.size())) : typed();
  }
  Value operator()(const node::Comprehension& list) const {
    const Value from = eval(list.from), to = eval(list.to);
    Value result;
    if (count_between(from, to).value_or(kMaxLength + 1) > kMaxLength) {
      machine.unknown("how long the list is", expr.span);
      return result;
    }
    result.kind = Value::Kind::List;
    for (int64_t i = from.whole; i < to.whole; ++i) {
      machine.assign_anew(list.variable, Value::of_int(i), frame);
      result.items.push_back(placed(list.element, std::to_string(i - from.whole)));
    }
    result.place = place_of_parts();
    return result;
  }
  Value operator()(const node::ApplyList& chain) const {
    const Value list = eval(chain.list);
    Value value = eval(chain.value);
    if (list.kind != Value::Kind::List) {
      machine.unknown("how long the list is", expr.span);
      return typed();
    }
    for (const Value& part : list.items) {
      machine.assign(chain.element, part, frame);
      machine.assign(chain.flowing, std::move(value), frame);
      value = eval(chain.applied);
    }
    return value;
  }
  Value operator()(const node::Shape& shape) const {
    const Value tensor = eval(shape.tensor);
    if (tensor.kind != Value::Kind::Tensor) return typed();
    Value sizes;
    sizes.kind = Value::Kind::List;
    for (const Size& size : tensor.dims) sizes.items.push_back(size ? Value::of_int(*size) : Value{});
    return sizes;
  }

  Value operator()(const node::If& choice) const {
    const Value condition = eval(choice.condition);
    const bool is_known = condition.kind == Value::Kind::Bool;
    if (!is_known && machine.is_exact()) return expr.type.kind == Kind::Int ? typed() : Value{};
    if (!is_known) machine.unknown("which branch is taken; the first is counted", expr.span);
    return eval(!is_known || condition.whole != 0 ? choice.then_value : choice.else_value);
  }
  Value operator()(const node::And& both) const { return lazy(both.left, both.right, false); }
  Value operator()(const node::Or& either) const { return lazy(either.left, either.right, true); }
  Value operator()(const node::Not& negation) const {
    const Value value = eval(negation.value);
    return value.kind == Value::Kind::Bool ? Value::of_bool(value.whole == 0) : Value{};
  }
  Value operator()(const node::Host& host) const {
    const std::vector<Value> args = eval(host.args);
    if (args.size() == 2 && (host.op == host::Op::Equal || host.op == host::Op::NotEqual)) {
      auto same = equal(args[0], args[1]);
      if (same && host.op == host::Op::NotEqual) same = !*same;
      return of_flag(same);
    }
    std::vector<host::Number> numbers;
    for (const Value& arg : args) {
      if (const auto number = number_of(arg)) numbers.push_back(*number);
    }
    std::optional<host::Number> result;
    if (numbers.size() == args.size() && args.size() == 1) result = host::fold(host.op, numbers[0]);
    if (numbers.size() == args.size() && args.size() == 2) result = host::fold(host.op, numbers[0], numbers[1]);
    return result ? of_number(*result) : typed();
  }
  Value operator()(const node::In& in) const {
    const Value value = eval(in.value);
    if (const auto* range = machine.program_.exprs[in.set].get<node::Range>()) {
      const Value low = eval(range->from), high = eval(range->to);
      if (!value.is_number() || !low.is_number() || !high.is_number()) return {};
      return Value::of_bool(value.number() >= low.number() && value.number() < high.number());
    }
    const Value list = eval(in.set);
    for (const Value& item : list.items) {
      const auto same = equal(value, item);
      if (!same) return {};
      if (*same) return Value::of_bool(true);
    }
    return list.kind == Value::Kind::List ? Value::of_bool(false) : Value{};
  }
  Value operator()(const node::Range&) const { return {}; }
  Value operator()(const node::Equal& compared) const {
    const Value left = eval(compared.left);
    return of_flag(equal(left, eval(compared.right)));
  }
  Value operator()(const node::Convert& convert) const {
    Value value = eval(convert.value);
    if (expr.type.kind == Kind::Float && value.kind == Value::Kind::Int) return Value::of_float(double(value.whole));
    if (expr.type.is_tensor() && value.kind != Value::Kind::Tensor) return typed();
    return value;
  }
  Value operator()(const node::Interpolate&) const { return {}; }
  Value operator()(const node::CheckShape& check) const { return checked(eval(check.tensor)); }
  Value operator()(const node::CheckResult& check) const { return checked(eval(check.tensor)); }

  Value operator()(const node::Weights& weights) const {
    Value result;
    result.kind = Value::Kind::Weights;
    result.weights = machine.weights_of(eval(weights.of));
    return result;
  }
  Value operator()(const node::Frozen& frozen) const { return eval(frozen.value); }
  Value operator()(const node::LetIn& let) const {
    machine.assign(let.local, eval(let.value), frame);
    return eval(let.result);
  }

  // The rounds differ in nothing that is counted, but each has its own place on the tape: what is
  // carried from one to the next is how the gradient goes back.
  Value operator()(const node::Scan& scan) const {
    Value element = eval(scan.sequence);
    Size rounds;
    if (element.kind == Value::Kind::Tensor && scan.axis < int64_t(element.dims.size())) {
      rounds = element.dims[size_t(scan.axis)];
      element.dims.erase(element.dims.begin() + long(scan.axis));
      element.weight.reset();
    }
    if (!rounds || *rounds > kMaxRounds) {
      machine.unknown("how often the scan runs; one round is counted", expr.span);
      rounds = 1;
    }
    for (const node::Carried& carried : scan.carried) machine.assign(carried.local, eval(carried.initial), frame);
    Operation stacked = operation(library::Id::Stack);
    for (int64_t i = 0; i < *rounds; ++i) {
      machine.assign(scan.element, element, frame);
      machine.run(scan.body, frame);
      collect(machine.yielded_, stacked);
    }
    Value result = typed();
    if (!machine.is_tracing) return result;
    count_cost(stacked, {}, result);
    return put_on_tape(std::move(stacked), std::move(result));
  }

  static Value function_value(check::FnId fn) {
    Value value;
    value.kind = Value::Kind::Function;
    value.whole = int64_t(fn);
    return value;
  }

  Value element(const Value& list, const Value& index) const {
    if (list.kind != Value::Kind::List || index.kind != Value::Kind::Int) return typed();
    const int64_t at = index.whole < 0 ? index.whole + int64_t(list.items.size()) : index.whole;
    return at < 0 || at >= int64_t(list.items.size()) ? typed() : list.items[size_t(at)];
  }

  Value sequence(const ExprIds& elements) const {
    Value list;
    list.kind = Value::Kind::List;
    for (size_t i = 0; i < elements.size(); ++i) list.items.push_back(placed(elements[i], std::to_string(i)));
    if (expr.type.kind == Kind::Weights) {
      list.weights = machine.weights_of(list);
      list.kind = Value::Kind::Weights;
      list.items.clear();
    } else {
      list.place = place_of_parts();
    }
    return list;
  }

  /// Where the blocks lie that this list or record holds, if it builds them all itself.
  std::optional<std::string> place_of_parts() const {
    const bool builds_all = frame.place && check::builds_blocks(expr, machine.program_);
    return builds_all && !check::takes_blocks(expr, machine.program_) ? frame.place : std::nullopt;
  }

  /// The value of a part, which lies at a place of its own if it builds blocks.
  Value placed(ExprId part, const std::string& name) const {
    if (!frame.place || !check::builds_blocks(machine.program_.exprs[part], machine.program_)) return eval(part);
    return machine.eval_at(below(*frame.place, name), machine.program_.exprs[part], frame);
  }

  /// `decides` is the value of the left side that makes the right one needless.
  Value lazy(ExprId left, ExprId right, bool decides) const {
    const Value first = eval(left);
    if (first.kind != Value::Kind::Bool) return {};
    return (first.whole != 0) == decides ? first : eval(right);
  }

  /// It stays the same tensor; the type knows sizes that the value may lack.
  Value checked(Value value) const {
    const Value known = typed();
    if (value.kind != Value::Kind::Tensor) return known;
    for (size_t i = 0; i < value.dims.size() && i < known.dims.size(); ++i) {
      if (!value.dims[i]) value.dims[i] = known.dims[i];
    }
    return value;
  }

  Value data_member(const node::DataMember& member) const {
    const Object& object = machine.plan_.tree.objects[*machine.data];
    const auto param = object.params.find(member.name);
    if (member.is_param && param != object.params.end()) return param->second;
    const auto given = machine.options_.data.find("data." + member.name);
    if (given != machine.options_.data.end()) return Value::of_int(given->second);
    const check::Object& decl = machine.decl_of(object);
    for (const check::Member& one : decl.members) {
      if (one.name != member.name) continue;
      Frame inner;
      inner.locals = &decl.locals;
      inner.self = machine.data;
      for (size_t i = 0; i < decl.params.size(); ++i) {
        const auto value = object.params.find(decl.params[i].name);
        if (value != object.params.end()) inner.values[check::LocalId(i)] = value->second;
      }
      Value value = machine.eval(one.value, inner);
      if (value.kind == Value::Kind::Unknown || value.kind == Value::Kind::Call) value.text = member.name;
      return value;
    }
    return {};
  }

  /// How an int that only the data knows is written: `data.chars.vocab`, `data.words.size`, `data.seen.city.unique`; ""
  /// for all others.
  std::string data_path(const node::Op& op) const {
    if (op.args.empty()) return "";
    const ExprView of = machine.program_.exprs[op.args[0]];
    const auto* member = of.get<node::DataMember>();
    const std::string let = member != nullptr ? "data." + member->name : "";
    if (op.op == library::Id::CharacterCount) return (let.empty() ? "data." : let) + ".vocab";
    if (op.op == library::Id::VocabSize && !let.empty()) return let + ".size";
    const auto* facts = op.op == library::Id::FactUnique ? of.get<node::Op>() : nullptr;
    if (facts == nullptr || facts->op != library::Id::FieldFacts || facts->args.size() != 2) return "";
    const auto* seen = machine.program_.exprs[facts->args[0]].get<node::DataMember>();
    const auto* field = machine.program_.exprs[facts->args[1]].get<node::StrConst>();
    return seen != nullptr && field != nullptr ? "data." + seen->name + "." + field->text + ".unique" : "";
  }

  Value told_by_data(const node::Op& op, const std::string& path, const std::vector<Value>& args) const {
    const auto given = machine.options_.data.find(path);
    if (given != machine.options_.data.end()) return Value::of_int(given->second);
    const bool is_count = op.op == library::Id::CharacterCount;
    const Value* file = is_count ? args[0].find("file") : nullptr;
    const Size count = file != nullptr && file->kind == Value::Kind::Str && machine.options_.count_characters
                           ? machine.options_.count_characters(file->text)
                           : std::nullopt;
    if (count) return Value::of_int(*count);
    machine.unknown(path + (is_count ? ", as its file is not here" : ", which a run finds out") + "; `--set " + path +
                        "=N` gives it",
                    expr.span);
    return {};
  }

  Value call(library::Id function, const std::vector<Value>& args) const {
    if (function == library::Id::OrElse && args.size() == 2)
      return args[0].kind == Value::Kind::None ? args[1] : args[0];
    if (function == library::Id::SliceList) return part_of(args[0], args[1], args[2]).value_or(typed());
    if (expr.type.kind == Kind::Stream) {
      // Kept so that what is asked of a source can be answered.
      Value source;
      source.kind = Value::Kind::Call;
      source.text = library::info(function).name;
      if (function == library::Id::TextChars && !args.empty()) {
        source.names = {"file"};
        source.items = {args[0]};
      }
      return source;
    }
    Value result = typed();
    if (result.kind == Value::Kind::Tensor) take_dims(result, args);
    const bool has_tensor = result.kind == Value::Kind::Tensor || result.kind == Value::Kind::List;
    if (!machine.is_tracing || !has_tensor) return result;
    Operation operation = this->operation(function);
    for (const Value& arg : args) collect(arg, operation);
    count_cost(operation, args, result);
    if (!operation.flops)
      machine.unknown("the sizes of `" + std::string(library::info(function).name) + "`, which is not counted",
                      expr.span);
    return put_on_tape(std::move(operation), std::move(result));
  }

  Operation operation(library::Id function) const {
    Operation operation;
    operation.function = function;
    operation.span = expr.span;
    operation.object = frame.self.value_or(machine.plan_.tree.model);
    return operation;
  }

  Value put_on_tape(Operation operation, Value result) const {
    set_node(result, int32_t(machine.plan_.tape.size()));
    machine.plan_.tape.push_back(std::move(operation));
    return result;
  }
};

Value Machine::eval(const ExprView& expr, Frame& frame) {
  if (!may_go_on(expr.span)) return {};
  if (depth_ == kMaxDepth) {
    unknown("what is nested in more than " + std::to_string(kMaxDepth) + " levels", expr.span);
    return {};
  }
  ++depth_;
  Value value = std::visit(ExprRunner{*this, expr, frame}, expr.node);
  --depth_;
  return value;
}

}  // namespace ltr::elaborate
