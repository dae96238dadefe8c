#include <set>

#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Member;
using check::MemberKind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

/// Lowers the constructor of one object, and the small functions that its members need.
class ObjectLowerer {
 public:
  ObjectLowerer(Shared& shared, const ObjectRef& ref) : shared_(shared), ref_(ref), lowerer_(shared, function_) {}

  void run() {
    info_.name = ref_.name;
    info_.shown = ref_.object->name;
    info_.kind = ref_.kind;
    info_.is_library = ref_.object->is_library;
    info_.loc = shared_.loc(ref_.object->span);
    info_.constructor = ref_.name + ".$new";
    info_.model = model_name();
    begin();
    for (const Member& member : ref_.object->members) {
      lowerer_.b.loc = shared_.loc(member.span);
      add_member(member);
    }
    if (ref_.data != nullptr) add_data(*ref_.data);
    for (size_t i = 0; i < ref_.object->inits.size(); ++i) add_init(ref_.object->inits[i], i);
    lowerer_.finish();
    for (const uint32_t fn : ref_.object->fns) {
      if (shared_.program.fns[fn].role != check::FnRole::Hook) continue;
      info_.hooks.push_back({shared_.program.fns[fn].name, shared_.fn_names[fn]});
    }
    shared_.module.functions.push_back(std::move(function_));
    shared_.tables.objects.push_back(std::move(info_));
  }

 private:
  bool has_scope() const { return ref_.kind == TypeKind::Block || ref_.kind == TypeKind::Model; }

  std::string model_name() const {
    if (ref_.object->model.empty()) return "";
    for (const auto& [key, ref] : shared_.objects) {
      if (ref.kind == TypeKind::Model && ref.object->name == ref_.object->model) return ref.name;
    }
    return "";
  }

  void begin() {
    function_.name = info_.constructor;
    function_.owner = ref_.name;
    function_.role = ir::Role::Constructor;
    function_.result = Type::of(TypeKind::Void);
    function_.loc = info_.loc;
    function_.is_library = ref_.object->is_library;
    lowerer_.owner = &ref_;
    lowerer_.b.loc = info_.loc;
    lowerer_.self = lowerer_.b.param(ref_.type(), "self");
    if (has_scope()) scope_ = lowerer_.b.param(Type::of(TypeKind::Scope), "scope");
    if (ref_.kind == TypeKind::Model) lowerer_.world = lowerer_.b.param(Type::of(TypeKind::Int), "world");
    for (size_t i = 0; i < ref_.object->params.size(); ++i) {
      const check::Local& param = ref_.object->params[i];
      const ValueId value = lowerer_.b.param(shared_.type(param.type), param.name);
      lowerer_.env[check::LocalId(i)] = value;
      lowerer_.own_params[param.name] = value;
      info_.params.push_back({param.name, shared_.type(param.type), "$" + param.name});
    }
  }

  void set(const Member& member, ir::ObjectMember::Kind kind, const Type& type, ValueId value) {
    lowerer_.b.effect(OpKind::SetMember, {*lowerer_.self, value}, member.name);
    lowerer_.own_members[member.name] = value;
    info_.members.push_back({member.name, kind, type, "", ""});
  }

  void add_member(const Member& member) {
    using Kind = ir::ObjectMember::Kind;
    const Type type = shared_.type(member.type);
    switch (member.kind) {
      case MemberKind::Let: {
        // `better` of a metric is a fact for the compiler.
        if (ref_.kind == TypeKind::Metric && member.name == "better") return;
        return set(member, Kind::Let, type, lowerer_.fit(lowerer_.expr(member.value), type));
      }
      case MemberKind::Block: {
        lowerer_.place = lowerer_.b.op(OpKind::Place, Type::of(TypeKind::Scope), {scope_}, member.name);
        const ValueId value = lowerer_.expr(member.value);
        if (member.source) load(*lowerer_.place, *member.source);
        lowerer_.place.reset();
        return set(member, Kind::Block, lowerer_.b.type(value), value);
      }
      case MemberKind::Weight:
      case MemberKind::Buffer: {
        const bool is_weight = member.kind == MemberKind::Weight;
        lowerer_.b.effect(OpKind::SeedWeight, {scope_}, member.name);
        const ValueId initial = lowerer_.expr(member.value);
        const ValueId made =
            lowerer_.b.op(is_weight ? OpKind::MakeWeight : OpKind::MakeBuffer, type, {scope_, initial}, member.name);
        return set(member, is_weight ? Kind::Weight : Kind::Buffer, type, made);
      }
      case MemberKind::State: return add_state(member, type);
      case MemberKind::Metric: return add_metric(member, type);
      case MemberKind::Optimizer: return add_optimizer(member);
    }
  }

  void load(ValueId place, const check::WeightSource& source) {
    std::vector<ir::Attr> attrs;
    if (!source.rules.empty()) attrs.push_back({"rules", ir::NameRules(source.rules.begin(), source.rules.end())});
    const ir::Loc outer = lowerer_.b.loc;
    lowerer_.b.loc = shared_.loc(source.span);
    lowerer_.b.effect(OpKind::LoadWeights, {place, lowerer_.expr(source.path)}, "", std::move(attrs));
    lowerer_.b.loc = outer;
  }

  // The states of a metric are set by its `reset`, which the emitter makes of the constructor's state ops.
  void add_state(const Member& member, const Type& type) {
    ValueId value = lowerer_.expr(member.value);
    if (type.is_tensor() && !lowerer_.b.type(value).is_tensor()) value = lowerer_.b.op(OpKind::Convert, type, {value});
    set(member, ir::ObjectMember::Kind::State, type, value);
    info_.members.back().reduce = member.reduce;
    lowerer_.own_members.erase(member.name);  // It changes: read it where it is wanted.
  }

  void add_metric(const Member& member, const Type& type) {
    ir::Function maker;
    maker.name = ref_.name + ".$make_" + member.name;
    maker.owner = ref_.name;
    maker.role = ir::Role::MetricMaker;
    maker.result = type;
    maker.loc = shared_.loc(member.span);
    BodyLowerer inner(shared_, maker);
    inner.owner = &ref_;
    inner.b.loc = maker.loc;
    inner.self = inner.b.param(ref_.type(), "self");
    inner.b.effect(OpKind::Return, {inner.expr(member.value)});
    info_.members.push_back({member.name, ir::ObjectMember::Kind::Metric, type, "", maker.name});
    lowerer_.b.effect(OpKind::MakeMetric, {*lowerer_.self}, member.name, {{"make", maker.name}});
    shared_.module.functions.push_back(std::move(maker));
  }

  /// Settings of an optimizer or of one of its groups, as operands with their names and types.
  struct Settings {
    ir::Texts names, types;
    std::vector<ValueId> values;
  };

  /// `rule` is what they are settings of.
  Settings settings(const std::string& rule, const std::vector<std::pair<std::string, check::Expr>>& list) {
    Settings settings;
    for (const auto& [name, value] : list) {
      const std::string declared = shared_.argument_type(rule, name);
      settings.names.push_back(name);
      settings.types.push_back(!declared.empty()    ? declared
                               : name == "schedule" ? "schedule"
                                                    : setting_text(value.type));
      settings.values.push_back(lowerer_.setting(value));
    }
    return settings;
  }

  ValueId add_group(const check::GroupSettings& group, const std::string& rule) {
    const auto* own_rule = group.rule ? group.rule->get<check::node::Call>() : nullptr;
    Settings settings = this->settings(own_rule != nullptr ? own_rule->name : rule, group.settings);
    if (group.rule) {
      settings.names.emplace_back("rule");
      settings.types.emplace_back("optimizer");
      settings.values.push_back(lowerer_.setting(*group.rule));
    }
    const ir::Loc outer = lowerer_.b.loc;
    lowerer_.b.loc = shared_.loc(group.span);
    const ValueId made = lowerer_.b.op(OpKind::MakeGroup, Type::of(TypeKind::Value), std::move(settings.values), "",
                                       {{"pattern", group.pattern},
                                        {"rule", own_rule != nullptr ? own_rule->name : ""},
                                        {"names", std::move(settings.names)},
                                        {"types", std::move(settings.types)}});
    lowerer_.b.loc = outer;
    return made;
  }

  void add_optimizer(const Member& member) {
    const auto* call = member.value.get<check::node::Call>();
    LTR_INVARIANT(call != nullptr && !call->args.empty(), "an optimizer without weights", lowerer_.b.loc);
    const ValueId rule = lowerer_.setting(member.value);
    const ValueId weights = lowerer_.expr(call->args[0].value);
    Settings settings = this->settings(call->name, member.settings);
    std::vector<ValueId> operands = {scope_, rule, weights};
    operands.insert(operands.end(), settings.values.begin(), settings.values.end());
    for (const check::GroupSettings& group : member.groups) operands.push_back(add_group(group, call->name));
    const ValueId optimizer = lowerer_.b.op(
        OpKind::MakeOptimizer, Type::of(TypeKind::Optimizer), std::move(operands), member.name,
        {{"rule", call->name}, {"names", std::move(settings.names)}, {"types", std::move(settings.types)}});
    set(member, ir::ObjectMember::Kind::Optimizer, Type::of(TypeKind::Optimizer), optimizer);
  }

  void add_init(const check::InitRule& rule, size_t index) {
    ir::Function init;
    init.name = ref_.name + ".$init_" + std::to_string(index);
    init.owner = ref_.name;
    init.role = ir::Role::InitRule;
    init.result = Type::tensor(ir::Element::Float, {shared_.module.dims.leading()});
    init.loc = shared_.loc(rule.span);
    BodyLowerer inner(shared_, init);
    inner.owner = &ref_;
    inner.b.loc = init.loc;
    inner.self = inner.b.param(ref_.type(), "self");
    inner.shape = inner.b.param(Type::list(Type::of(TypeKind::Int)), "shape");
    inner.b.effect(OpKind::Return, {inner.expr(rule.value)});
    lowerer_.b.loc = init.loc;
    lowerer_.b.effect(OpKind::MakeInit, {scope_, *lowerer_.self}, "", {{"pattern", rule.pattern}, {"fn", init.name}});
    shared_.module.functions.push_back(std::move(init));
  }

  void add_data(const check::DataObject& data) {
    ir::DataInfo info;
    info.object = ref_.name;
    std::vector<ValueId> operands = {*lowerer_.self};
    const Type ints = Type::list(Type::of(TypeKind::Int));
    for (size_t i = 0; i < data.batch.fields.size(); ++i) {
      info.batch.push_back({data.batch.fields[i].name, shared_.type(data.batch.fields[i].type)});
      std::vector<ValueId> dims;
      for (const check::Expr& dim : data.batch_dims[i]) dims.push_back(lowerer_.expr(dim));
      operands.push_back(lowerer_.b.op(OpKind::ListOf, ints, std::move(dims)));
    }
    lowerer_.b.effect(OpKind::SetBatch, std::move(operands));
    for (const check::StreamDecl& stream : data.streams) {
      lowerer_.b.loc = shared_.loc(stream.span);
      const ValueId value = lowerer_.expr(stream.value);
      lowerer_.b.effect(OpKind::AddStream, {*lowerer_.self, value}, stream.name, {{"role", stream.role}});
    }
    shared_.tables.datas.push_back(std::move(info));
  }

  Shared& shared_;
  const ObjectRef& ref_;
  ir::Function function_;
  BodyLowerer lowerer_;
  ir::ObjectInfo info_;
  ValueId scope_ = 0;
};

/// The constructors that analysis follows; one that cannot be lowered has no ops.
void lower_intact_objects(Shared& shared) {
  for (const auto& [key, ref] : shared.objects) {
    const bool is_followed = ref.kind == TypeKind::Block || ref.kind == TypeKind::Model || ref.kind == TypeKind::Metric;
    if (!is_followed) continue;
    try {
      ObjectLowerer(shared, ref).run();
    } catch (const ir::InternalError&) {
      if (!shared.options.has_errors) throw;
      ir::Function constructor;
      constructor.name = ref.name + ".$new";
      constructor.owner = ref.name;
      constructor.role = ir::Role::Constructor;
      constructor.loc = shared.loc(ref.object->span);
      constructor.has_error = true;
      shared.module.functions.push_back(std::move(constructor));
      ir::ObjectInfo info;
      info.name = ref.name;
      info.shown = ref.object->name;
      info.kind = ref.kind;
      info.constructor = ref.name + ".$new";
      info.is_library = ref.object->is_library;
      info.loc = shared.loc(ref.object->span);
      shared.tables.objects.push_back(std::move(info));
    }
  }
}

}  // namespace

void lower_objects(Shared& shared) {
  if (shared.is_analysis) return lower_intact_objects(shared);
  for (const auto& [key, ref] : shared.objects) ObjectLowerer(shared, ref).run();
  for (const ObjectRef& ref : shared.callbacks) {
    ObjectLowerer(shared, ref).run();
    Effects effects;
    for (const ir::Hook& hook : shared.tables.objects.back().hooks) {
      if (const ir::Function* fn = shared.module.find(hook.fn)) add_effects(*fn, shared.module, effects);
    }
    shared.tables.callbacks.push_back({ref.name, {effects.logs.begin(), effects.logs.end()}});
  }
}

}  // namespace ltr::lower
