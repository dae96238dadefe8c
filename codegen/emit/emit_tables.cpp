#include <algorithm>
#include <set>

#include "codegen/emit/context.h"
#include "codegen/ir/unplanned.h"

namespace ltr::emit {
namespace {

cpp::Expr enumerator(const std::string& type, std::string name) {
  if (!name.empty()) name[0] = char(name[0] - 'a' + 'A');
  return cpp::name("ltr::" + type + "::" + name);
}

cpp::Expr address(const std::string& fn) { return cpp::unary("&", cpp::name("program::" + Context::identifier(fn))); }

cpp::Expr numbers(const std::vector<int>& list) {
  std::vector<cpp::Expr> items;
  for (const int one : list) items.push_back(cpp::integer(one));
  return cpp::braces(std::move(items));
}

cpp::Expr strings(const std::vector<std::string>& list) {
  std::vector<cpp::Expr> items;
  for (const std::string& one : list) items.push_back(cpp::string(one));
  return cpp::braces(std::move(items));
}

/// `ltr::build::FUNCTION(program, row…);`
void add(cpp::Body& body, const std::string& function, std::vector<cpp::Expr> row) {
  row.insert(row.begin(), cpp::name("program"));
  body.push_back(cpp::expression(cpp::call("ltr::build::" + function, std::move(row))));
}

void add_step(cpp::Body& body, const ir::ExperimentInfo& experiment, const ir::StepInfo& step, Context& cx) {
  std::vector<int> fields;
  std::copy_if(step.fields.begin(), step.fields.end(), std::back_inserter(fields),
               [](int field) { return field >= 0; });
  add(body, "add_step",
      {cpp::string(step.name), enumerator("Role", step.role),
       cpp::unary("&", cpp::name("program::" + cx.wrapper_name(experiment, step))), numbers(fields), numbers(step.logs),
       cpp::boolean(step.random), cpp::boolean(step.minimizes), cpp::boolean(step.is_manual), cx.location(step.loc),
       cpp::boolean(step.updates_always)});
  if (const std::optional<ir::UnplannedOp> found = ir::find_unplanned(cx.module, step.fn))
    add(body, "add_unplanned", {cpp::string(reason_of(found->what)), cx.location(found->loc)});
  for (const ir::StepParam& param : step.params) {
    add(body, "add_param",
        {cpp::string(param.name), cpp::string(param.type_text), cpp::string(param.initial), cx.location(param.loc)});
  }
}

void add_costs(cpp::Body& body, const ir::CostInfo& costs) {
  std::vector<cpp::Expr> layers, rests_on;
  for (const ir::LayerCost& layer : costs.layers)
    layers.push_back(cpp::braces(
        {cpp::string(layer.path), cpp::string(layer.output), cpp::integer(layer.weights), cpp::real(layer.flops)}));
  for (const auto& [name, value] : costs.rests_on)
    rests_on.push_back(cpp::braces({cpp::string(name), cpp::string(value)}));
  add(body, "add_costs",
      {cpp::braces(std::move(layers)), cpp::real(costs.forward), cpp::real(costs.backward),
       cpp::braces(std::move(rests_on))});
}

void emit_rows(cpp::Body& body, Context& cx) {
  for (const ir::SourceText& source : cx.tables.sources)
    add(body, "add_source", {cpp::string(source.path), cpp::string(source.text)});
  for (const ir::LogInfo& log : cx.tables.logs) {
    add(body, "add_log",
        {cpp::string(log.name), enumerator("Role", log.role), enumerator("LogKind", log.kind),
         enumerator("LogWhen", log.when), enumerator("Reduce", log.reduce.empty() ? "mean" : log.reduce),
         cpp::boolean(log.bar), cx.location(log.loc), cpp::boolean(log.is_whole), cpp::string(log.each),
         cpp::string(log.better)});
  }
  for (const ir::CallbackInfo& callback : cx.tables.callbacks) {
    const ir::ObjectInfo& object = cx.object(callback.object);
    if (cx.module.find(object.constructor) == nullptr) continue;
    std::vector<std::string> hooks;
    for (const ir::Hook& hook : object.hooks) hooks.push_back(hook.name);
    add(body, "add_callback",
        {cpp::string(object.shown), strings(hooks), numbers(callback.logs),
         cpp::unary("&", cpp::name("program::ltr_make_" + Context::identifier(callback.object))),
         cx.location(object.loc)});
  }
  for (const ir::ScheduleInfo& schedule : cx.tables.schedules) {
    add(body, "add_schedule",
        {cpp::string(schedule.fn), strings(schedule.params),
         cpp::unary("&", cpp::name("program::ltr_schedule_" + Context::identifier(schedule.fn)))});
  }
  for (const ir::TopologyInfo& topology : cx.tables.topologies) {
    add(body, "add_topology", {cpp::string(topology.name), address(topology.resolve), cx.location(topology.loc)});
  }
  std::set<std::string> blocks;
  for (const ir::ObjectInfo& object : cx.tables.objects) {
    if (object.kind == ir::TypeKind::Block) blocks.insert(object.shown);
  }
  const std::vector<std::string>& recomputed = cx.tables.recomputed;
  for (const std::string& block : blocks) {
    const bool is_recomputed = std::find(recomputed.begin(), recomputed.end(), block) != recomputed.end();
    add(body, "add_block", {cpp::string(block), cpp::boolean(is_recomputed)});
  }
  for (const ir::ExperimentInfo& experiment : cx.tables.experiments) {
    add(body, "add_experiment",
        {cpp::string(experiment.name), cpp::string(experiment.data_shown), cpp::string(experiment.model_shown),
         cpp::string(experiment.topology), address(experiment.resolve), address(experiment.make_data),
         address(experiment.make_model), address(experiment.list_callbacks), cx.location(experiment.loc)});
    for (const ir::StepInfo& step : experiment.steps) add_step(body, experiment, step, cx);
    if (!experiment.costs.layers.empty()) add_costs(body, experiment.costs);
    if (!experiment.semantic_hash.empty()) add(body, "add_semantic_hash", {cpp::string(experiment.semantic_hash)});
  }
  for (const ir::TestInfo& test : cx.tables.tests)
    add(body, "add_test", {cpp::string(test.title), address(test.fn), cx.location(test.loc)});
  for (const ir::ObligationInfo& obligation : cx.tables.obligations) {
    add(body, "add_obligation",
        {cpp::string(obligation.text), cpp::string(obligation.fate), cx.location(obligation.loc)});
  }
}

void emit_hparams(Context& cx) {
  if (cx.tables.hparams.empty()) return;
  cpp::Struct values;
  values.name = "Hparams_";
  cpp::Global infos;
  infos.type = cpp::constant(cpp::plain("ltr::HparamInfo"));
  infos.name = "ltr_hparams";
  infos.is_array = true;
  for (const ir::HparamInfo& hparam : cx.tables.hparams) {
    values.fields.push_back({cx.type(hparam.type), Context::identifier(hparam.name), true});
    infos.value.args.push_back(
        cpp::braces({cpp::string(hparam.name), cpp::string(hparam.type_text), cpp::string(hparam.doc),
                     cpp::string(hparam.where), cx.location(hparam.loc)}));
  }
  cx.file.structs.push_back(std::move(values));
  cx.file.variables.push_back(std::move(infos));
  cpp::Global variable;
  variable.type = cpp::plain("Hparams_");
  variable.name = "hparams";
  variable.has_value = false;
  cx.file.variables.push_back(std::move(variable));
}

void emit_slots(Context& cx) {
  for (const ir::ExperimentInfo& experiment : cx.tables.experiments) {
    const std::string name = Context::identifier(experiment.resolve.substr(1));
    cpp::Struct slots;
    slots.name = "Slots_" + name;
    for (const ir::SlotInfo& slot : experiment.slots)
      slots.fields.push_back({cx.type(slot.type), Context::identifier(slot.name), true});
    cpp::Global variable;
    variable.type = cpp::plain(slots.name);
    variable.name = "slots_" + name;
    variable.has_value = false;
    cx.file.structs.push_back(std::move(slots));
    cx.file.variables.push_back(std::move(variable));
  }
}

}  // namespace

void emit_tables(Context& cx) {
  emit_hparams(cx);
  emit_slots(cx);
  cpp::Function table;
  table.result = cpp::plain("void");
  table.name = "table";
  table.params = {{cpp::reference(cpp::plain("ltr::Program")), "program"}};
  emit_rows(table.body, cx);
  cx.file.functions.push_back(std::move(table));
}

}  // namespace ltr::emit
