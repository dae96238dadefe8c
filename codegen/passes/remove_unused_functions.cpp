#include "codegen/passes/remove_unused_functions.h"

#include <set>
#include <string>

#include "codegen/ir/tables.h"

namespace ltr::passes {
namespace {

class RemovalPass {
 public:
  explicit RemovalPass(ir::Module& module) : module_(module) {}

  void run() {
    if (module_.tables != nullptr) {
      add_tables(*module_.tables);
    } else {
      for (const ir::Function& function : module_.functions) {
        if (function.role != ir::Role::Free) add(function.name);
      }
    }
    while (!open_.empty()) {
      const std::string name = open_.back();
      open_.pop_back();
      if (const ir::Function* function = module_.find(name)) add_region(function->body);
    }
    std::erase_if(module_.functions, [&](const ir::Function& function) { return kept_.count(function.name) == 0; });
  }

 private:
  void add(const std::string& name) {
    if (!name.empty() && kept_.insert(name).second) open_.push_back(name);
  }

  void add_object(const std::string& name) {
    if (!objects_.insert(name).second || module_.tables == nullptr) return;
    const ir::ObjectInfo* object = module_.tables->find_object(name);
    if (object == nullptr) return;
    add(object->constructor);
    for (const ir::ObjectMember& member : object->members) add(member.maker);
    for (const ir::Hook& hook : object->hooks) add(hook.fn);
    if (!object->model.empty()) add_object(object->model);  // A callback holds one, also where nothing builds it.
    // The runtime calls these through the base class.
    for (const ir::Function& function : module_.functions) {
      const bool is_called = function.role == ir::Role::MetricUpdate || function.role == ir::Role::MetricCompute ||
                             function.role == ir::Role::MetricMerge || function.role == ir::Role::MetricEach ||
                             function.role == ir::Role::MetricLength;
      if (is_called && function.owner == name) add(function.name);
    }
  }

  void add_tables(const ir::Tables& tables) {
    add(tables.defaults);
    for (const ir::ExperimentInfo& experiment : tables.experiments) {
      for (const std::string& fn :
           {experiment.resolve, experiment.make_data, experiment.make_model, experiment.list_callbacks})
        add(fn);
      for (const ir::StepInfo& step : experiment.steps) add(step.fn);
    }
    for (const ir::TopologyInfo& topology : tables.topologies) add(topology.resolve);
    for (const ir::CallbackInfo& callback : tables.callbacks) add_object(callback.object);
    for (const ir::HparamInfo& hparam : tables.hparams) add(hparam.fits);
    for (const ir::TestInfo& test : tables.tests) add(test.fn);
    for (const ir::TrainPair& pair : tables.pairs) add(pair.fn);
    for (const ir::ScheduleInfo& schedule : tables.schedules) add(schedule.fn);
  }

  void add_region(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      const bool calls = op.kind == ir::OpKind::CallFn || op.kind == ir::OpKind::CallMethod ||
                         op.kind == ir::OpKind::FnValue || op.kind == ir::OpKind::MapStream ||
                         op.kind == ir::OpKind::FilterStream;
      if (calls) add(op.name);
      if (op.kind == ir::OpKind::Construct) add_object(op.name);
      for (const char* key : {"fn", "make"}) {
        const ir::Attr* attr = op.find(key);
        if (attr != nullptr && std::holds_alternative<std::string>(attr->value))
          add(std::get<std::string>(attr->value));
      }
      for (const ir::Region& inner : op.regions) add_region(inner);
    }
  }

  ir::Module& module_;
  std::set<std::string> kept_;
  std::set<std::string> objects_;
  std::vector<std::string> open_;
};

}  // namespace

void remove_unused_functions(ir::Module& module) { RemovalPass(module).run(); }

}  // namespace ltr::passes
