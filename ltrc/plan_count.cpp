#include <algorithm>
#include <set>
#include <sstream>

#include "dsl/elaborate/liveness.h"
#include "dsl/elaborate/planned.h"
#include "ltrc/plan.h"
#include "runtime/tables/precisions.h"
#include "runtime/tables/rule_states.h"

namespace ltr::driver {

namespace {

using elaborate::Layout;
using elaborate::Plan;
using elaborate::Size;
using elaborate::Strategy;
using elaborate::Unit;
using elaborate::Value;

bool is_set(const Value& rule, const char* argument) {
  const Value* value = rule.find(argument);
  return value != nullptr &&
         (value->kind == Value::Kind::Bool ? value->whole != 0 : value->is_number() && value->number() != 0);
}

bool divides_state(Strategy strategy) { return strategy != Strategy::Single && strategy != Strategy::Ddp; }
bool divides_weights(Strategy strategy) { return strategy == Strategy::Fsdp || strategy == Strategy::Hsdp; }

/// An element of the type that a column of the table of precisions names.
double bytes_of(std::string_view type) { return type == "f64" ? 8 : type == "bf16" || type == "f16" ? 2 : 4; }

}  // namespace

double bytes_of(check::Element element, const std::string& precision) {
  switch (element) {
    case check::Element::F64:
    case check::Element::I64: return 8;
    case check::Element::F32:
    case check::Element::I32: return 4;
    case check::Element::F16:
    case check::Element::BF16:
    case check::Element::I16: return 2;
    case check::Element::I8:
    case check::Element::U8:
    case check::Element::Bool: return 1;
    case check::Element::Float:
    case check::Element::Any:
    case check::Element::Error: break;
  }
  const PrecisionRow* row = find_precision(precision);
  return row != nullptr ? bytes_of(row->weights) : 4;
}

double result_bytes(const std::string& precision) {
  const PrecisionRow* row = find_precision(precision);
  return row != nullptr ? bytes_of(row->compute) : 4;
}

std::optional<int> states_of(const Value& rule) {
  for (const optim::RuleStates& row : optim::kRuleStates) {
    if (rule.text != row.name) continue;
    int states = row.states;
    std::istringstream more(row.more);
    for (std::string argument; more >> argument;) states += is_set(rule, argument.c_str()) ? 1 : 0;
    const optim::RuleHistory& history = optim::kRuleHistory;
    if (rule.text == history.rule) {
      const Value* given = rule.find(history.argument);
      states += history.states * (given != nullptr && given->is_number() ? int(given->number()) : history.initial);
    }
    return states;
  }
  return std::nullopt;
}

std::string recomputed_block(const Plan& plan, const Machinery& machinery, elaborate::ObjectId object) {
  std::string outermost;
  for (const elaborate::Object& one : plan.tree.objects) {
    const bool is_named =
        std::find(machinery.recompute.begin(), machinery.recompute.end(), one.type) != machinery.recompute.end();
    if (is_named && one.kind == check::Kind::Block && one.path && plan.tree.objects[object].lies_below(*one.path) &&
        (outermost.empty() || one.path->size() < outermost.size()))
      outermost = *one.path;
  }
  return outermost;
}

std::vector<std::string> recomputed_blocks(const Plan& plan, const Machinery& machinery) {
  std::vector<std::string> blocks;
  for (const elaborate::Operation& operation : plan.tape)
    blocks.push_back(machinery.recompute.empty() ? "" : recomputed_block(plan, machinery, operation.object));
  return blocks;
}

namespace {

/// What gradients on their way take of a device, beside their own memory.
double bucket_bytes(const Layout& layout, const elaborate::Work& work, double gradients) {
  const bool is_shared = work.is_core && layout.strategy == Strategy::Ddp && layout.ranks() <= layout.per_node;
  // One bucket fills while the one before it travels.
  if (!is_shared) return std::min(2 * work.bucket_bytes, gradients) * work.wire;
  // Cores of a node sum in memory that they share: two turns, in each a part of every rank and the sum, of which one writes its own,
  // reads all of the sum, and a piece of the parts of others.
  const double ranks = double(layout.ranks());
  return 2 * (2 + (ranks - 1) / ranks) * std::min(work.bucket_bytes, gradients) * work.wire;
}

/// The memory of a plan, where gradients lie, too; its rehearsal is over when they come.
void add_planned(const elaborate::PlannedStep& step, const elaborate::Work& work, Memory& memory) {
  const double number = result_bytes("f32");
  // With several batches an update their sum is beside.
  if (work.accumulate == 1) memory.gradients = number * step.gradients;
  const double own = work.accumulate == 1 ? memory.gradients : 0;
  memory.activations = std::max(0.0, number * std::max(step.peak, step.rehearsed) - own);
}

/// Of the process beside its tensors: what each function that it calls makes its libraries load is as good as the same.
double program_bytes(const Plan& plan, const elaborate::Device& device) {
  std::set<library::Id> functions;
  for (const elaborate::Operation& operation : plan.tape) {
    if (!operation.is_view) functions.insert(operation.function);
  }
  return device.program_bytes + device.function_bytes * double(functions.size());
}

}  // namespace

Memory count_memory(const Plan& plan, const Machinery& machinery, const Layout& layout, const elaborate::Work& work,
                    const elaborate::Device& device) {
  Memory memory;
  memory.program = program_bytes(plan, device);
  std::vector<double> bytes;
  std::set<elaborate::WeightId> trained;
  for (const elaborate::Weight& weight : plan.tree.weights) {
    const Size count = elaborate::count_elements(weight.dims);
    if (!count) memory.unknown.push_back("the size of " + weight.name());
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
  if (machinery.plans(layout)) {
    add_planned(elaborate::plan_step(plan, recomputed_blocks(plan, machinery)), work, memory);
    return memory;
  }
  const double result = result_bytes(machinery.precision);
  const double gradient = bytes_of(check::Element::Float, machinery.precision);
  const elaborate::Peak peak =
      elaborate::find_peak(plan, recomputed_blocks(plan, machinery), work.is_core, gradient / result);
  memory.activations = result * peak.results;
  // Where one process computes alone, gradients come while results go; ranks have room for all of theirs throughout.
  if (layout.ranks() == 1 && work.accumulate == 1)
    memory.activations = std::max(0.0, result * peak.with_gradients - memory.gradients);
  if (layout.ranks() > 1 && !divides_weights(layout.strategy)) {
    memory.buckets = bucket_bytes(layout, work, memory.gradients);
  }
  const double parts = double(layout.fsdp);
  if (divides_state(layout.strategy)) memory.state /= parts;
  // Gradients cross ranks with the last batch of an update, so with several each rank keeps its own sum of all.
  const bool divides_gradients = layout.strategy == Strategy::Zero2 || divides_weights(layout.strategy);
  if (divides_gradients && work.accumulate == 1) memory.gradients /= parts;
  if (!divides_weights(layout.strategy)) return memory;
  memory.weights /= parts;
  if (layout.fsdp == 1) return memory;
  Unit largest;
  for (const Unit& unit : work.units) {
    if (unit.weight_bytes > largest.weight_bytes) largest = unit;
  }
  // One block is gathered while the one before it computes, and its gradients are whole until they are divided.
  memory.gathered = work.rest.weight_bytes + std::min<double>(double(work.units.size()), 2) * largest.weight_bytes;
  if (work.accumulate == 1) memory.gathered += work.rest.gradient_bytes + largest.gradient_bytes;
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
