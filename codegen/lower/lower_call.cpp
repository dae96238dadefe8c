#include <algorithm>

#include "codegen/lower/body.h"
#include "runtime/tables/roles.h"

namespace ltr::lower {

using check::Expr;
using check::ExprId;
using check::ExprIds;
using check::ExprView;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;
namespace node = check::node;

void BodyLowerer::note_written(const ExprIds& args) {
  std::vector<source::Span> spans;
  spans.reserve(args.size() + 1);  // A method has its object in front of them.
  for (const ExprId arg : args) spans.push_back(at(arg).span);
  b.written(std::move(spans));
}

// Functions of the library that are more than a call of the runtime's function of that name.
ValueId BodyLowerer::lower(const node::Op& node, const ExprView& expr) {
  const Type type = shared_.type(expr.type);
  const library::Function& function = library::info(node.op);
  if (node.op == library::Id::Overfit) return overfit(node, expr);
  if (function.wants_schema) return typed_source(node, expr);
  if (node.op == library::Id::OrElse) {
    const ValueId value = this->expr(node.args[0]);
    const ValueId defined = b.host(host::Op::Defined, Type::of(TypeKind::Bool), {value});
    return either(
        defined, type, [&] { return b.op(OpKind::Convert, type, {value}); }, [&] { return this->expr(node.args[1]); });
  }
  std::vector<ValueId> args;
  for (const ExprId arg : node.args) {
    // Sizes and times are numbers to the runtime.
    const ExprView given = at(arg);
    const auto* quantity = given.get<node::Quantity>();
    if (quantity != nullptr && quantity->measure == host::Measure::Bytes) {
      args.push_back(b.int_const(int64_t(quantity->value)));
    } else if (quantity != nullptr && quantity->measure == host::Measure::Seconds) {
      args.push_back(b.float_const(quantity->value));
    } else if (given.type.kind == check::Kind::Bytes) {
      args.push_back(from_value(this->expr(arg), Type::of(TypeKind::Int)));
    } else {
      args.push_back(this->expr(arg));
    }
  }
  if (node.op == library::Id::Facts) args.push_back(fact_fields(expr.type));
  if (node.op == library::Id::Item) return b.op(OpKind::Item, type, std::move(args));
  if (function.asks_trainer) return b.call(node.op, type, std::move(args), OpKind::Trainer);
  const ValueId result = b.call(node.op, type, std::move(args));
  note_written(node.args);
  b.element(node.element);
  return result;
}

// Of a stream with many fields those are counted that the program asks for.
ValueId BodyLowerer::fact_fields(const check::Type& facts) {
  const auto used = shared_.program.fact_fields.find(facts.name);
  std::vector<ValueId> names;
  for (const check::TypeField& field : facts.fields) {
    if (used != shared_.program.fact_fields.end() && used->second.contains(field.name))
      names.push_back(b.str_const(field.name));
  }
  return b.op(OpKind::ListOf, Type::list(Type::of(TypeKind::Str)), std::move(names));
}

std::vector<ValueId> BodyLowerer::arguments(check::FnId fn, const ExprIds& args) {
  const check::Fn& callee = shared_.program.fns[fn];
  std::vector<ValueId> values;
  for (size_t i = 0; i < args.size(); ++i) {
    const ValueId value = expr(args[i]);
    values.push_back(i < callee.param_count ? fit(value, shared_.type(callee.locals[i].type)) : value);
  }
  return values;
}

ValueId BodyLowerer::lower(const node::CallFn& node, const ExprView& expr) {
  const ValueId result =
      b.op(OpKind::CallFn, shared_.type(expr.type), arguments(node.fn, node.args), shared_.fn_names[node.fn]);
  note_written(node.args);
  b.element(node.element);
  return result;
}

ValueId BodyLowerer::lower(const node::CallMethod& node, const ExprView& expr) {
  std::vector<ValueId> operands = {this->expr(node.object)};
  for (const ValueId value : arguments(node.fn, node.args)) operands.push_back(value);
  const ValueId result =
      b.op(OpKind::CallMethod, shared_.type(expr.type), std::move(operands), shared_.fn_names[node.fn]);
  ExprIds written = {node.object};
  written.insert(written.end(), node.args.begin(), node.args.end());
  note_written(written);
  b.element(node.element);
  return result;
}

// The metric is a member: it is updated by its name in the object that has it.
ValueId BodyLowerer::lower(const node::CallMetric& node, const ExprView&) {
  const ExprView& metric = at(node.metric);
  const auto* member = metric.get<node::Member>();
  LTR_INVARIANT(member != nullptr, "a metric that is no member is updated", b.loc);
  const std::vector<ValueId> args = arguments(node.fn, node.args);
  std::vector<ValueId> operands = {this->expr(member->object)};
  operands.insert(operands.end(), args.begin(), args.end());
  const ValueId value = b.op(OpKind::CallMetric, Type::object(TypeKind::MetricValue, shared_.object(metric.type).name),
                             std::move(operands), member->name, {{"fn", shared_.fn_names[node.fn]}});
  ExprIds written = {node.metric};
  written.insert(written.end(), node.args.begin(), node.args.end());
  note_written(written);
  return value;
}

ValueId BodyLowerer::lower(const node::CallValue& node, const ExprView& expr) {
  std::vector<ValueId> operands = {this->expr(node.callee)};
  for (const ExprId arg : node.args) operands.push_back(this->expr(arg));
  return b.op(OpKind::CallValue, shared_.type(expr.type), std::move(operands));
}

ValueId BodyLowerer::lower(const node::CallExtern& node, const ExprView& expr) {
  const ir::ExternFn& callee = shared_.extern_fn(node.name);
  return b.op(OpKind::CallExtern, shared_.type(expr.type), exprs(node.args), node.name,
              {{"backward", callee.backward}});
}

// A block that is built as an argument of another one is its member under the param's name.
ValueId BodyLowerer::lower(const node::Construct& node, const ExprView& expr) {
  const ObjectRef& ref = shared_.object(expr.type);
  const bool has_place = ref.kind == TypeKind::Block || ref.kind == TypeKind::Model;
  const std::optional<ValueId> outer = place;
  std::vector<ValueId> args;
  if (has_place) {
    if (!place) place = b.op(OpKind::TestRoot, Type::of(TypeKind::Scope), {});
    args.push_back(*place);
    if (ref.kind == TypeKind::Model) {
      args.push_back(world ? *world : b.op(OpKind::ReadContext, Type::of(TypeKind::Int), {}, "world"));
    }
  }
  const std::optional<ValueId> here = place;
  for (size_t i = 0; i < node.args.size(); ++i) {
    place = here;
    if (has_place && check::builds_blocks(at(node.args[i]), shared_.program)) {
      place = b.op(OpKind::Place, Type::of(TypeKind::Scope), {*here}, ref.object->params[i].name);
    }
    const ValueId value = this->expr(node.args[i]);
    args.push_back(fit(value, shared_.type(ref.object->params[i].type)));
  }
  place = outer;
  return b.op(OpKind::Construct, ref.type(), std::move(args), ref.name);
}

int64_t BodyLowerer::map_row(ir::MapInfo map, check::FnId fn, const check::Type& stream) {
  const check::Fn& mapped = shared_.program.fns[fn];
  map.fn = shared_.fn_names[fn];
  map.data = shared_.fn_owners[fn] != nullptr ? shared_.fn_owners[fn]->name : "";
  map.name = mapped.name;
  map.random = mapped.draws_random;
  for (const check::TypeField& field : stream.fields) map.input.push_back({field.name, shared_.type(field.type)});
  std::vector<ir::MapInfo>& maps = shared_.tables.maps;
  const auto known = std::find_if(maps.begin(), maps.end(), [&](const ir::MapInfo& one) {
    return one.fn == map.fn && one.input == map.input && one.output == map.output;
  });
  const auto row = int64_t(known - maps.begin());
  if (known == maps.end()) maps.push_back(std::move(map));
  return row;
}

ValueId BodyLowerer::lower(const node::MapStage& node, const ExprView& expr) {
  const ValueId stream = this->expr(node.stream);
  std::vector<ValueId> operands = {*self, stream};
  if (node.skip_bad) operands.push_back(this->expr(*node.skip_bad));
  ir::MapInfo map;
  for (const check::TypeField& field : expr.type.fields) map.output.push_back({field.name, shared_.type(field.type)});
  const int64_t row = map_row(std::move(map), node.fn, at(node.stream).type);
  return b.op(OpKind::MapStream, shared_.type(expr.type), std::move(operands), shared_.fn_names[node.fn],
              {{"map", row}});
}

ValueId BodyLowerer::lower(const node::FilterStage& node, const ExprView& expr) {
  const ValueId stream = this->expr(node.stream);
  ir::MapInfo filter;
  filter.is_filter = true;
  const int64_t row = map_row(std::move(filter), node.fn, at(node.stream).type);
  return b.op(OpKind::FilterStream, shared_.type(expr.type), {*self, stream}, shared_.fn_names[node.fn],
              {{"map", row}});
}

ValueId BodyLowerer::typed_source(const node::Op& op, const ExprView& expr) {
  return b.op(OpKind::TypedSource, shared_.type(expr.type), exprs(op.args), std::string(library::info(op.op).name));
}

ValueId BodyLowerer::overfit(const node::Op& op, const ExprView& expr) {
  const ObjectRef& model_ref = shared_.object(at(op.args[0]).type);
  const ObjectRef& data_ref = shared_.object(at(op.args[1]).type);
  const auto [known, is_new] = shared_.pairs.emplace(model_ref.name + "/" + data_ref.name, shared_.tables.pairs.size());
  if (is_new) {
    ir::TrainPair pair;
    pair.name = "pair_" + std::to_string(known->second);
    pair.model = model_ref.name;
    pair.data = data_ref.name;
    for (const uint32_t index : model_ref.object->fns) {
      const check::Fn& step = shared_.program.fns[index];
      if (step.role != check::FnRole::Step || step.name != kTrainRole) continue;
      pair.fn = shared_.fn_names[index];
      for (uint32_t param = 0; param < step.param_count; ++param) {
        const auto& fields = data_ref.data->batch.fields;
        int at = -1;
        for (size_t i = 0; i < fields.size(); ++i) {
          if (fields[i].name == step.locals[param].name) at = int(i);
        }
        LTR_INVARIANT(at >= 0, "overfit: the data lacks `" + step.locals[param].name + "`", b.loc);
        pair.fields.push_back(at);
      }
    }
    LTR_INVARIANT(!pair.fn.empty(), "overfit: the model has no train step", b.loc);
    shared_.tables.pairs.push_back(std::move(pair));
  }
  const ValueId loss =
      b.op(OpKind::Overfit, Type::of(TypeKind::Float), exprs(op.args), "", {{"pair", int64_t(known->second)}});
  return b.op(OpKind::RecordOf, shared_.type(expr.type), {loss});
}

// Settings.

ValueId BodyLowerer::kept_call(const node::Call& call) {
  std::vector<ValueId> args;
  ir::Texts names, types;
  for (const node::NamedArg& arg : call.args) {
    // The weights of an optimizer's rule go beside the rule, not into it.
    const ExprView& value = at(arg.value);
    if (value.type.kind == Kind::Weights || value.is<node::Weights>()) continue;
    names.push_back(arg.name);
    const std::string declared = call.fn == 0 ? shared_.argument_type(call.name, arg.name) : "";
    types.push_back(declared.empty() ? setting_text(value.type) : declared);
    args.push_back(setting(value));
  }
  if (call.fn != 0) {
    std::vector<ir::ScheduleInfo>& known = shared_.tables.schedules;
    const std::string& fn = shared_.fn_names[call.fn];
    if (std::none_of(known.begin(), known.end(), [&](const ir::ScheduleInfo& one) { return one.fn == fn; }))
      known.push_back({fn, names});
  }
  return b.op(OpKind::MakeCall, Type::of(TypeKind::Value), std::move(args),
              call.fn == 0 ? call.name : shared_.fn_names[call.fn], {{"names", names}, {"types", types}});
}

ValueId BodyLowerer::setting(const ExprView& expr) {
  const ir::Loc outer = b.loc;
  if (!expr.span.is_empty()) b.loc = shared_.loc(expr.span);
  struct Restore {
    ir::Loc& loc;
    ir::Loc value;
    ~Restore() { loc = value; }
  } restore{b.loc, outer};
  const auto make = [&](const std::string& kind, std::vector<ValueId> operands) {
    return b.op(OpKind::MakeValue, Type::of(TypeKind::Value), std::move(operands), "", {{"kind", kind}});
  };
  const auto items = [&](const ExprIds& elements) {
    std::vector<ValueId> values;
    for (const ExprId element : elements) values.push_back(setting(at(element)));
    return values;
  };
  if (const auto* symbol = expr.get<node::Symbol>()) return make("symbol", {b.str_const(symbol->text)});
  if (const auto* series = expr.get<node::Series>()) return make("series", {b.str_const(series->name)});
  if (expr.is<node::NoneConst>()) return make("none", {});
  if (const auto* call = expr.get<node::Call>()) return kept_call(*call);
  if (const auto* quantity = expr.get<node::Quantity>()) {
    const bool is_size = quantity->measure == host::Measure::Bytes;
    return make(std::string(host::to_text(quantity->measure)),
                {is_size ? b.int_const(int64_t(quantity->value)) : b.float_const(quantity->value)});
  }
  if (const auto* list = expr.get<node::List>()) return make("list", items(list->elements));
  if (const auto* tuple = expr.get<node::Tuple>()) return make("tuple", items(tuple->elements));
  if (const auto* range = expr.get<node::Range>()) return make("tuple", items({range->from, range->to}));
  return to_value(this->expr(expr));
}

ValueId BodyLowerer::to_value(ValueId id) {
  const Type type = b.type(id);
  if (type.is(TypeKind::Value)) return id;
  return b.op(OpKind::MakeValue, Type::of(TypeKind::Value), {id}, "", {{"kind", std::string("plain")}});
}

ValueId BodyLowerer::from_value(ValueId id, const Type& type) {
  return type.is(TypeKind::Value) ? id : b.op(OpKind::Convert, type, {id});
}

}  // namespace ltr::lower
