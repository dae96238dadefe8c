#include "dsl/elaborate/elaborate.h"

#include <algorithm>

#include "dsl/check/walk.h"
#include "dsl/elaborate/groups.h"
#include "dsl/elaborate/machine.h"
#include "runtime/tables/roles.h"

namespace ltr::elaborate {

using check::Kind;

namespace {

/// `size` of the last `collate` of a stream; nothing if it is not known.
Size batch_of(const check::ExprView& stream, const check::Program& program, Machine& machine, Frame& frame) {
  if (const auto* map = stream.get<check::node::MapStage>())
    return batch_of(program.exprs[map->stream], program, machine, frame);
  if (const auto* filter = stream.get<check::node::FilterStage>())
    return batch_of(program.exprs[filter->stream], program, machine, frame);
  const auto* stage = stream.get<check::node::Op>();
  if (stage == nullptr || stage->args.empty()) return std::nullopt;
  if (stage->op != library::Id::Collate || stage->args.size() < 2)
    return batch_of(program.exprs[stage->args[0]], program, machine, frame);
  const Value size = machine.eval(stage->args[1], frame);
  return size.kind == Value::Kind::Int ? Size(size.whole) : std::nullopt;
}

/// The code of an object, its parameters being known.
Frame params_frame(const Object& object, const check::Object& decl, ObjectId id) {
  Frame frame;
  frame.locals = &decl.locals;
  frame.self = id;
  for (size_t i = 0; i < decl.params.size(); ++i) {
    const auto value = object.params.find(decl.params[i].name);
    if (value != object.params.end()) frame.values[check::LocalId(i)] = value->second;
  }
  return frame;
}

/// A batch of the data as the parameters of a step.
std::vector<Value> step_arguments(const check::DataObject& data, const check::StepBinding& step, Size batch,
                                  Machine& machine, Frame& frame) {
  std::vector<Value> args;
  for (size_t i = 0; i < step.fields.size(); ++i) {
    if (step.fields[i] < 0) {
      args.push_back(i < step.defaults.size() && step.defaults[i] ? machine.eval(*step.defaults[i], frame) : Value{});
      continue;
    }
    const size_t field = size_t(step.fields[i]);
    Value value;
    value.kind = Value::Kind::Tensor;
    value.element = data.batch.fields[field].type.element;
    const std::vector<check::Expr>& dims = data.batch_dims[field];
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const Value size = machine.eval(dims[axis], frame);
      const bool is_fixed = size.kind == Value::Kind::Int && size.whole >= 0;
      // The batch comes first; the other binders differ from batch to batch.
      value.dims.push_back(is_fixed ? Size(size.whole) : axis == 0 ? batch : std::nullopt);
    }
    args.push_back(std::move(value));
  }
  return args;
}

void read_hparams(const check::Program& program, const check::Experiment& experiment, const Options& options,
                  Machine& machine) {
  for (const check::Hparam& hparam : program.hparams) {
    const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                  [&](const auto& one) { return one.first == hparam.name; });
    const check::ExprView source =
        set != experiment.sets.end() ? check::ExprView(set->second) : program.exprs[hparam.initial];
    const auto given = options.hparams.find(hparam.name);
    Frame frame;
    Value value = given != options.hparams.end() ? given->second : machine.eval(source, frame);
    if (hparam.type.kind == Kind::Float && value.kind == Value::Kind::Int) value = Value::of_float(double(value.whole));
    machine.set_hparam(hparam, std::move(value));
  }
}

/// What is given for the param of a root: a block that is built for it lies under its name.
Value argument_of(check::ExprId given, const std::string& param, const check::Program& program, Machine& machine,
                  Frame& top) {
  const check::ExprView argument = program.exprs[given];
  return check::builds_blocks(argument, program) ? machine.eval_at(param, argument, top) : machine.eval(argument, top);
}

/// What would be refused at start is refused here.
void check_rules(const check::Program& program, const check::Experiment& experiment, Machine& machine, Plan& plan) {
  Frame frame;
  const auto is_broken = [&](std::optional<check::ExprId> condition) {
    if (!condition) return false;
    const Value holds = machine.eval(*condition, frame);
    return holds.kind == Value::Kind::Bool && holds.whole == 0;
  };
  for (const check::Hparam& hparam : program.hparams) {
    if (is_broken(hparam.where)) plan.broken.push_back(hparam.where_text);
  }
  for (const check::Obligation& obligation : experiment.obligations) {
    if (is_broken(obligation.condition)) plan.broken.push_back(obligation.text);
  }
}

}  // namespace

Value evaluate_setting(const check::ExprView& expr, const check::Program& program, const check::Experiment& experiment,
                       const Options& options) {
  Plan plan;
  Machine machine(program, options, plan);
  read_hparams(program, experiment, options, machine);
  Frame top;
  return machine.eval(expr, top);
}

Tree build(const check::Program& program, const check::Type& type, const check::ExprIds& arguments,
           check::AtomTable& atoms) {
  Options options;
  options.atoms = &atoms;
  Plan plan;
  Machine machine(program, options, plan);
  Frame top;
  const auto given = [&](size_t i, const std::string& param) {
    return i < arguments.size() ? argument_of(arguments[i], param, program, machine, top) : Value{};
  };
  plan.tree.model = ObjectId(machine.construct(type, {SIZE_MAX, given}, "").whole);
  return std::move(plan.tree);
}

Plan elaborate(const check::Program& program, const check::Experiment& experiment, const Options& options) {
  Plan plan;
  Machine machine(program, options, plan);
  read_hparams(program, experiment, options, machine);
  check_rules(program, experiment, machine, plan);
  if (!plan.broken.empty()) return plan;
  Frame top;
  top.locals = &experiment.locals;
  const auto construct = [&](Kind kind, check::DeclIndex decl, const check::ExprIds& arguments) {
    const auto given = [&](size_t i, const std::string& param) {
      return argument_of(arguments[i], param, program, machine, top);
    };
    check::Type type = check::Type::of(kind);
    type.decl = decl;
    const auto place = kind == Kind::Model ? std::optional<std::string>("") : std::nullopt;
    return ObjectId(machine.construct(type, {arguments.size(), given}, place).whole);
  };
  plan.tree.data = construct(Kind::Data, experiment.data, experiment.data_arguments);
  machine.data = plan.tree.data;
  plan.tree.model = construct(Kind::Model, experiment.model, experiment.model_arguments);

  const check::DataObject& data = program.datas[experiment.data];
  Frame frame = params_frame(plan.tree.objects[plan.tree.data], data.object, plan.tree.data);
  for (const check::StreamDecl& stream : data.streams) {
    if (stream.role == kTrainRole && !plan.batch) plan.batch = batch_of(stream.value, program, machine, frame);
  }
  for (const check::SettingValue& setting : experiment.trainer) {
    if (setting.path != "accumulate") continue;
    const Value value = machine.eval(setting.value, top);
    if (value.kind == Value::Kind::Int) {
      plan.accumulate = value.whole;
    } else {
      plan.unknown.push_back({"how many batches an update takes; one is counted", setting.span});
    }
  }
  const Object& model = plan.tree.objects[plan.tree.model];
  const check::Object& decl = machine.decl_of(model);
  Frame model_frame = params_frame(model, decl, plan.tree.model);
  for (size_t i = 0; i < decl.members.size(); ++i) {
    const Value& value = model.members[i].second;
    if (decl.members[i].kind != check::MemberKind::Optimizer || value.items.empty()) continue;
    std::vector<Plan::Optimizer> parts = parts_of(decl.members[i], value, machine, model_frame, plan.tree);
    plan.optimizers.insert(plan.optimizers.end(), parts.begin(), parts.end());
  }
  for (const check::StepBinding& step : experiment.steps) {
    if (step.role != kTrainRole) continue;
    machine.is_tracing = true;
    machine.call(step.fn, plan.tree.model, step_arguments(data, step, plan.batch, machine, frame));
    machine.is_tracing = false;
  }
  if (!plan.batch) plan.unknown.push_back({"the size of a batch", data.object.span});
  return plan;
}

}  // namespace ltr::elaborate
