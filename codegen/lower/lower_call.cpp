#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Expr;
using check::ExprKind;
using check::Kind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

std::vector<source::Span> spans_of(const std::vector<Expr>& list) {
  std::vector<source::Span> spans;
  for (const Expr& expr : list) spans.push_back(expr.span);
  return spans;
}

}  // namespace

// Functions of the library that are more than a call of the runtime's function of that name.
ValueId BodyLowerer::op(const Expr& expr) {
  const Type type = shared_.type(expr.type);
  const library::Function& function = library::info(expr.op);
  if (expr.op == library::Id::Overfit) return overfit(expr);
  if (function.wants_schema) return typed_source(expr);
  if (expr.op == library::Id::OrElse) {
    const ValueId value = this->expr(expr.args[0]);
    const ValueId defined = host("defined", Type::of(TypeKind::Bool), {value});
    return either(defined, type, [&] { return b.op(OpKind::Convert, type, {value}); },
                  [&] { return this->expr(expr.args[1]); });
  }
  std::vector<ValueId> args;
  for (const Expr& arg : expr.args) {
    // Sizes and times are numbers to the runtime.
    if (arg.kind == ExprKind::Quantity && arg.name == "bytes") {
      args.push_back(b.int_const(int64_t(arg.number)));
    } else if (arg.kind == ExprKind::Quantity && arg.name == "seconds") {
      args.push_back(b.float_const(arg.number));
    } else {
      args.push_back(this->expr(arg));
    }
  }
  if (expr.op == library::Id::Item) return b.op(OpKind::Item, type, std::move(args));
  if (function.asks_trainer) return b.op(OpKind::Trainer, type, std::move(args), std::string(function.name));
  const ValueId result = b.call(expr.op, type, std::move(args));
  b.written(spans_of(expr.args));
  return result;
}

ValueId BodyLowerer::call(const Expr& expr) {
  const check::Fn& callee = shared_.program.fns[expr.fn];
  const bool is_method = shared_.fn_owners[expr.fn] != nullptr;
  std::vector<ValueId> args;
  if (is_method && expr.kind != ExprKind::CallMetric) args.push_back(this->expr(expr.args[0]));
  for (size_t i = is_method ? 1 : 0; i < expr.args.size(); ++i) {
    const size_t param = i - (is_method ? 1 : 0);
    const ValueId value = this->expr(expr.args[i]);
    args.push_back(param < callee.param_count ? fit(value, shared_.type(callee.locals[param].type)) : value);
  }
  const std::string& name = shared_.fn_names[expr.fn];
  if (expr.kind == ExprKind::CallMetric) {
    const Expr& metric = expr.args[0];
    args.insert(args.begin(), this->expr(metric.args[0]));
    const std::string owner_name = shared_.object(metric.type).name;
    const ValueId value = b.op(OpKind::CallMetric, Type::object(TypeKind::MetricValue, owner_name),
                               std::move(args), metric.name, {{"fn", name}});
    b.written(spans_of(expr.args));
    return value;
  }
  const ValueId result = b.op(is_method ? OpKind::CallMethod : OpKind::CallFn, shared_.type(expr.type), std::move(args), name);
  b.written(spans_of(expr.args));
  return result;
}

// A block that is built as an argument of another one is its member under the param's name.
ValueId BodyLowerer::construct(const Expr& expr) {
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
  for (size_t i = 0; i < expr.args.size(); ++i) {
    place = here;
    const bool is_function = expr.args[i].kind == ExprKind::Function;
    const Kind kind = is_function ? expr.args[i].args[0].type.kind : expr.args[i].type.kind;
    if (has_place && (kind == Kind::Block || (is_function && kind == Kind::List))) {
      place = b.op(OpKind::Place, Type::of(TypeKind::Scope), {*here}, ref.object->params[i].name);
    }
    args.push_back(this->expr(expr.args[i]));
  }
  place = outer;
  return b.op(OpKind::Construct, ref.type(), std::move(args), ref.name);
}

ValueId BodyLowerer::map_stage(const Expr& expr) {
  const ValueId stream = this->expr(expr.args[0]);
  std::vector<ValueId> operands = {*self, stream};
  if (expr.args.size() > 1) operands.push_back(this->expr(expr.args[1]));
  const check::Fn& mapped = shared_.program.fns[expr.fn];
  ir::MapInfo map;
  map.fn = shared_.fn_names[expr.fn];
  map.data = shared_.fn_owners[expr.fn] != nullptr ? shared_.fn_owners[expr.fn]->name : "";
  map.name = mapped.name;
  map.random = mapped.draws_random;
  map.is_filter = expr.kind == ExprKind::FilterStage;
  for (const check::TypeField& field : expr.args[0].type.fields) map.input.push_back({field.name, shared_.type(field.type)});
  for (const check::TypeField& field : expr.type.fields) {
    if (map.is_filter) break;
    map.output.push_back({field.name, shared_.type(field.type)});
    std::vector<int64_t> dims;
    for (const check::Dim& dim : field.type.dims) dims.push_back(dim.group == 0 ? dim.size.constant().value_or(-1) : -1);
    map.dims.push_back(std::move(dims));
  }
  const bool is_filter = map.is_filter;
  size_t index = 0;
  std::vector<ir::MapInfo>& maps = shared_.tables.maps;
  while (index < maps.size() && !(maps[index].fn == map.fn && maps[index].input == map.input && maps[index].output == map.output)) ++index;
  if (index == maps.size()) maps.push_back(std::move(map));
  return b.op(is_filter ? OpKind::FilterStream : OpKind::MapStream, shared_.type(expr.type), std::move(operands), shared_.fn_names[expr.fn],
              {{"map", int64_t(index)}});
}

ValueId BodyLowerer::typed_source(const Expr& expr) {
  ir::Texts names, types, dims;
  for (const check::TypeField& field : expr.type.fields) {
    names.push_back(field.name);
    types.push_back(field.type.is_tensor() ? check::to_text(field.type.element) : "host " + setting_text(field.type));
    std::string sizes;
    for (const check::Dim& dim : field.type.dims) {
      sizes += (sizes.empty() ? "" : " ") + std::to_string(dim.group == 0 ? dim.size.constant().value_or(-1) : -1);
    }
    dims.push_back(sizes);
  }
  return b.op(OpKind::TypedSource, shared_.type(expr.type), exprs(expr.args), std::string(library::info(expr.op).name),
              {{"names", names}, {"types", types}, {"dims", dims}});
}

ValueId BodyLowerer::overfit(const Expr& expr) {
  const ObjectRef& model_ref = shared_.object(expr.args[0].type);
  const ObjectRef& data_ref = shared_.object(expr.args[1].type);
  const auto [known, is_new] = shared_.pairs.emplace(model_ref.name + "/" + data_ref.name, shared_.tables.pairs.size());
  if (is_new) {
    ir::TrainPair pair;
    pair.name = "pair_" + std::to_string(known->second);
    pair.model = model_ref.name;
    pair.data = data_ref.name;
    for (const uint32_t index : model_ref.object->fns) {
      const check::Fn& step = shared_.program.fns[index];
      if (step.role != check::FnRole::Step || step.name != "train") continue;
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
  const ValueId loss = b.op(OpKind::Overfit, Type::of(TypeKind::Float), exprs(expr.args), "", {{"pair", int64_t(known->second)}});
  return b.op(OpKind::RecordOf, shared_.type(expr.type), {loss});
}

// ---- settings ------------------------------------------------------------------------------------------------

ValueId BodyLowerer::kept_call(const Expr& expr) {
  std::vector<ValueId> args;
  ir::Texts names, types;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    // The weights of an optimizer's rule go beside the rule, not into it.
    const Kind kind = expr.args[i].type.kind;
    if (kind == Kind::Weights || expr.args[i].kind == ExprKind::Weights) continue;
    const std::string name = i < expr.formats.size() ? expr.formats[i] : "";
    names.push_back(name);
    const std::string declared = shared_.argument_type(expr.name, name);
    types.push_back(declared.empty() ? setting_text(expr.args[i].type) : declared);
    args.push_back(setting(expr.args[i]));
  }
  return b.op(OpKind::MakeCall, Type::of(TypeKind::Value), std::move(args), expr.name, {{"names", names}, {"types", types}});
}

ValueId BodyLowerer::setting(const Expr& expr) {
  const ir::Loc outer = b.loc;
  if (!expr.span.is_empty()) b.loc = shared_.loc(expr.span);
  struct Restore {
    ir::Loc& loc;
    ir::Loc value;
    ~Restore() { loc = value; }
  } restore{b.loc, outer};
  const Type type = Type::of(TypeKind::Value);
  const auto make = [&](const std::string& kind, std::vector<ValueId> operands) {
    return b.op(OpKind::MakeValue, type, std::move(operands), "", {{"kind", kind}});
  };
  switch (expr.kind) {
    case ExprKind::Symbol: return make("symbol", {b.str_const(expr.name)});
    case ExprKind::Series: return make("series", {b.str_const(expr.name)});
    case ExprKind::NoneConst: return make("none", {});
    case ExprKind::Call: return kept_call(expr);
    case ExprKind::Quantity:
      if (expr.name == "bytes") return make("bytes", {b.int_const(int64_t(expr.number))});
      return make(expr.name, {b.float_const(expr.number)});
    case ExprKind::List:
    case ExprKind::Tuple:
    case ExprKind::Range: {
      std::vector<ValueId> items;
      for (const Expr& arg : expr.args) items.push_back(setting(arg));
      return make(expr.kind == ExprKind::List ? "list" : "tuple", std::move(items));
    }
    default: return to_value(this->expr(expr));
  }
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
