#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "ltrc/plan.h"
#include "runtime/optim/rule_states.h"

namespace ltr::driver {

namespace {

using elaborate::Plan;
using elaborate::Size;
using elaborate::Value;

/// The number behind `key =` in `(replica = 4, fsdp = 8)`; nothing if it does not stand there.
Size axis_of(const std::string& mesh, const std::string& key) {
  const size_t at = mesh.find(key);
  if (at == std::string::npos) return std::nullopt;
  const size_t digit = mesh.find_first_of("0123456789", at);
  return digit == std::string::npos ? std::nullopt : Size(std::atoll(mesh.c_str() + digit));
}

double bytes_of(check::Element element, const std::string& policy) {
  switch (element) {
    case check::Element::F64:
    case check::Element::I64:
      return 8;
    case check::Element::F32:
    case check::Element::I32:
      return 4;
    case check::Element::F16:
    case check::Element::BF16:
    case check::Element::I16:
      return 2;
    case check::Element::I8:
    case check::Element::U8:
    case check::Element::Bool:
      return 1;
    case check::Element::Float:
    case check::Element::Any:
    case check::Element::Error:
      break;
  }
  return policy == "f64" ? 8 : policy == "bf16_pure" ? 2 : 4;
}

bool is_set(const Value& rule, const char* argument) {
  const Value* value = rule.find(argument);
  return value != nullptr &&
         (value->kind == Value::Kind::Bool ? value->whole != 0
                                           : value->is_number() && value->number() != 0);
}

/// Tensors of a weight's size that a rule keeps; nothing if the rule is not known.
std::optional<int> states_of(const Value& rule) {
  for (const optim::RuleStates& row : optim::kRuleStates) {
    if (rule.text != row.name) continue;
    int states = row.states;
    std::istringstream more(row.more);
    for (std::string argument; more >> argument;) states += is_set(rule, argument.c_str()) ? 1 : 0;
    return states;
  }
  return std::nullopt;
}

}  // namespace

Machinery read_topology(const check::Program& program, const std::string& name) {
  Machinery result;
  result.topology = name;
  int64_t per_node = 1, nodes = 1;
  std::string mesh;
  for (const check::Topology& topology : program.topologies) {
    if (topology.name != name) continue;
    for (const check::SettingValue& setting : topology.settings) {
      const std::string& text = setting.value.name;
      if (setting.path == "devices") {
        result.kind = text.substr(0, text.find('['));
        per_node = axis_of(text, "[").value_or(1);
      }
      if (setting.path == "nodes") nodes = setting.value.whole;
      if (setting.path == "precision") result.precision = text;
      if (setting.path == "strategy") result.strategy = text;
      if (setting.path == "mesh") mesh = text;
    }
  }
  result.devices = per_node * nodes;
  const int64_t sharded =
      axis_of(mesh, "fsdp").value_or(result.strategy == "hsdp" ? per_node : result.devices);
  if (result.strategy.empty()) {
    result.strategy = !mesh.empty() && axis_of(mesh, "fsdp") ? "fsdp"
                      : result.devices > 1                   ? "ddp"
                                                             : "single";
  }
  if (result.strategy == "zero1" || result.strategy == "zero2")
    result.state_shards = result.devices;
  if (result.strategy == "zero2") result.gradient_shards = result.devices;
  if (result.strategy == "fsdp" || result.strategy == "hsdp")
    result.weight_shards = result.gradient_shards = result.state_shards = sharded;
  return result;
}

Memory count_memory(const Plan& plan, const Machinery& machinery) {
  Memory memory;
  std::vector<double> bytes;
  std::set<elaborate::WeightId> trained;
  for (const elaborate::Weight& weight : plan.tree.weights) {
    const Size count = elaborate::count_elements(weight.dims);
    if (!count) memory.unknown.push_back("the size of " + weight.path);
    bytes.push_back(double(count.value_or(0)) * bytes_of(weight.element, machinery.precision));
    (weight.is_buffer ? memory.buffers : memory.weights) += bytes.back();
  }
  for (const Plan::Optimizer& optimizer : plan.optimizers) {
    const auto states = states_of(optimizer.rule);
    if (!states) memory.unknown.push_back("what " + optimizer.rule.text + " keeps");
    for (const elaborate::WeightId id : optimizer.weights) {
      memory.state += states.value_or(0) * bytes[id];
      if (trained.insert(id).second) memory.gradients += bytes[id];
    }
  }
  memory.weights /= double(machinery.weight_shards);
  memory.gradients /= double(machinery.gradient_shards);
  memory.state /= double(machinery.state_shards);
  const bool is_narrow = machinery.precision == "bf16" || machinery.precision == "f16" ||
                         machinery.precision == "bf16_pure";
  const double kept = machinery.precision == "f64" ? 8 : is_narrow ? 2 : 4;
  for (const elaborate::Backward& backward : plan.backwards)
    memory.activations = std::max(memory.activations, kept * double(backward.kept_elements));
  return memory;
}

Flops count_flops(const Plan& plan) {
  Flops flops;
  for (const elaborate::Operation& operation : plan.tape) {
    flops.forward += operation.flops.value_or(0);
    if (operation.is_product) flops.products += operation.flops.value_or(0);
  }
  for (const elaborate::Backward& backward : plan.backwards) {
    flops.backward += backward.flops;
    flops.products += backward.product_flops;
  }
  return flops;
}

}  // namespace ltr::driver
