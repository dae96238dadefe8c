#include "ltrc/plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "codegen/ir/tables.h"
#include "codegen/ir/unplanned.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/elaborate/read_value.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/layer_rows.h"
#include "runtime/tables/flops_text.h"
#include "runtime/tables/roles.h"

namespace ltr::driver {

namespace {

using elaborate::Object;
using elaborate::Plan;
using elaborate::Size;
using elaborate::Value;

/// `1,234,567`
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int at = int(text.size()) - 3; at > 0; at -= 3) text.insert(size_t(at), 1, ',');
  return text;
}

std::string scaled(double value, double base, const std::vector<std::string>& units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= base) {
    value /= base;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", value, units[unit]) : fmt::format("{:.4g} {}", value, units[unit]);
}
/// `--set NAME=VALUE`; false after a message.
bool read_set(const std::string& given, const check::Program& program, elaborate::Options& options,
              TopologySets& topology) {
  const size_t equals = given.find('=');
  const std::string name = given.substr(0, equals);
  const std::string text = equals == std::string::npos ? "" : given.substr(equals + 1);
  if (equals == std::string::npos) {
    fmt::print(stderr, "error: `--set {}` has no value\n  = help: write --set {}=VALUE\n", given, name);
    return false;
  }
  if (const std::string section = "topology."; name.starts_with(section)) {
    topology[name.substr(section.size())] = text;
    return true;
  }
  if (name.starts_with("data.")) {
    const auto value = elaborate::read_value(check::Type::of(check::Kind::Int), text);
    if (value) options.data[name] = value->whole;
    if (!value) fmt::print(stderr, "error: `{}` is a size, not `{}`\n", name, text);
    return value.has_value();
  }
  std::vector<std::string> known;
  for (const check::Hparam& hparam : program.hparams) {
    known.push_back(hparam.name);
    if (hparam.name != name) continue;
    const auto value = elaborate::read_value(hparam.type, text);
    if (value) options.hparams[name] = *value;
    if (!value)
      fmt::print(stderr, "error: hparam `{}` has type {}, and `{}` is none\n", name,
                 check::to_text(hparam.type, program.atoms), text);
    return value.has_value();
  }
  fmt::print(stderr, "error: there is no hparam `{}`\n", name);
  if (const auto near = diagnostics::suggest(name, known)) fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  return false;
}

void print_table(const std::vector<LayerRow>& rows) {
  const auto output = [](const LayerRow& row) { return row.output ? shape_text(*row.output, "", std::nullopt) : ""; };
  size_t path = 4, type = 4, shape = 6;
  for (const LayerRow& row : rows) {
    path = std::max(path, row.path.size());
    type = std::max(type, row.type.size());
    shape = std::max(shape, output(row).size());
  }
  fmt::print("  {:<{}}  {:<{}}  {:<{}}  {:>13}  {:>13}\n", "name", path, "type", type, "output", shape, "weights",
             "forward");
  for (const LayerRow& row : rows) {
    fmt::print("  {:<{}}  {:<{}}  {:<{}}  {:>13}  {:>13}\n", row.path, path, row.type, type, output(row), shape,
               grouped(row.weights), flops_text(row.flops));
  }
}

/// Weights that an optimizer trains, and those that none does.
std::pair<int64_t, int64_t> count_weights(const Plan& plan) {
  std::set<elaborate::WeightId> trained;
  for (const Plan::Optimizer& optimizer : plan.optimizers)
    trained.insert(optimizer.weights.begin(), optimizer.weights.end());
  std::pair<int64_t, int64_t> counts;
  for (size_t i = 0; i < plan.tree.weights.size(); ++i) {
    if (plan.tree.weights[i].is_buffer) continue;
    const int64_t count = elaborate::count_elements(plan.tree.weights[i].dims).value_or(0);
    (trained.contains(elaborate::WeightId(i)) ? counts.first : counts.second) += count;
  }
  return counts;
}

std::vector<std::string> unknown_of(const Plan& plan, const Memory& memory, const source::SourceManager& sources) {
  std::vector<std::string> lines;
  for (const elaborate::Unknown& one : plan.unknown) {
    if (one.span.is_empty()) {
      lines.push_back(one.what);
      continue;
    }
    lines.push_back(
        fmt::format("{}:{}: {}", sources.path(one.span.source), sources.position(one.span).begin.line, one.what));
  }
  lines.insert(lines.end(), memory.unknown.begin(), memory.unknown.end());
  return lines;
}

/// Why no plan runs its steps.
std::string reason_of(const Machinery& machinery) {
  return machinery.op_by_op.empty() ? "the run has several processes" : machinery.op_by_op;
}

void print_plan(const std::string& experiment, const Plan& plan, const Machinery& machinery,
                const elaborate::Cluster& cluster, const Compilation& compilation) {
  const elaborate::Work work = make_work(plan, machinery, machinery.layout, cluster.device);
  const Memory memory = count_memory(plan, machinery, machinery.layout, work, cluster.device);
  const Flops flops = count_flops(plan);
  const auto [trained, fixed] = count_weights(plan);
  fmt::print("{}  {} of {} x {}, {}, {}\n", experiment,
             machinery.topology.empty() ? "no topology" : "topology " + machinery.topology, machinery.devices(),
             machinery.kind, elaborate::to_text(machinery.layout.strategy), machinery.precision);
  std::string hparams;
  for (const auto& [name, value] : plan.hparams) {
    hparams += (hparams.empty() ? "" : ", ") + name + " = ";
    hparams += setting_text(value);
  }
  if (!hparams.empty()) fmt::print("  {}\n", hparams);
  fmt::print("\n");
  print_table(layer_rows(plan));
  fmt::print("\nweights       {} trained, {} not trained\n", grouped(trained), grouped(fixed));
  fmt::print("one batch     {}: {} forward, {} backward\n",
             plan.batch ? grouped(*plan.batch) + " records" : "of unknown size", flops_text(flops.forward),
             flops_text(flops.backward));
  fmt::print("one update    {} on each device, {} of it in products\n",
             flops_text((flops.forward + flops.backward) * double(plan.accumulate)),
             flops_text(flops.products * double(plan.accumulate)));
  fmt::print("steps         {}\n", machinery.plans(machinery.layout) ? "planned" : "op by op: " + reason_of(machinery));
  fmt::print("\nmemory of each device\n");
  const auto line = [](const char* what, double bytes, const std::string& more = "") {
    fmt::print("  {:<12}{:>12}{}\n", what, bytes_text(bytes), more.empty() ? "" : "  " + more);
  };
  line("weights", memory.weights);
  if (memory.buffers > 0) line("buffers", memory.buffers);
  line("gradients", memory.gradients);
  std::vector<std::string> rules;
  for (const Plan::Optimizer& optimizer : plan.optimizers) {
    if (std::find(rules.begin(), rules.end(), optimizer.rule.text) == rules.end()) rules.push_back(optimizer.rule.text);
  }
  line("optimizer", memory.state, fmt::format("{}", fmt::join(rules, ", ")));
  std::string what = "results and their gradients, when there are most";
  if (machinery.plans(machinery.layout)) what += ", in the memory of the plan or of its rehearsal";
  if (!machinery.recompute.empty()) what += ", one block computed again";
  line("activations", memory.activations, what);
  if (memory.buckets > 0) line("buckets", memory.buckets, "gradients on their way");
  if (memory.gathered > 0) line("gathered", memory.gathered, "weights that are whole for a while, and their gradients");
  line("together", memory.sum());
  if (memory.program > 0) line("process", memory.sum() + memory.program, "with the program and its libraries");
  print_strategies(predict(plan, machinery, cluster), machinery, cluster);
  const std::vector<std::string> unknown = unknown_of(plan, memory, compilation.sources);
  if (!unknown.empty()) fmt::print("\nnot known, and not in these sums:\n");
  for (const std::string& one : unknown) fmt::print("  {}\n", one);
}

void print_json(const std::string& experiment, const Plan& plan, const Machinery& machinery,
                const elaborate::Cluster& cluster, const Compilation& compilation) {
  const elaborate::Work work = make_work(plan, machinery, machinery.layout, cluster.device);
  const Memory memory = count_memory(plan, machinery, machinery.layout, work, cluster.device);
  const Flops flops = count_flops(plan);
  const auto [trained, fixed] = count_weights(plan);
  nlohmann::ordered_json json;
  json["experiment"] = experiment;
  json["topology"] = machinery.topology;
  json["devices"] = machinery.devices();
  json["strategy"] = elaborate::to_text(machinery.layout.strategy);
  json["precision"] = machinery.precision;
  json["is_planned"] = machinery.plans(machinery.layout);
  json["batch"] = plan.batch ? nlohmann::ordered_json(*plan.batch) : nlohmann::ordered_json();
  json["accumulate"] = plan.accumulate;
  json["weights"] = {{"trained", trained}, {"not_trained", fixed}};
  json["flops_per_batch"] = {{"forward", flops.forward}, {"backward", flops.backward}, {"products", flops.products}};
  json["bytes_per_device"] = {
      {"weights", memory.weights},   {"buffers", memory.buffers},         {"gradients", memory.gradients},
      {"optimizer", memory.state},   {"activations", memory.activations}, {"buckets", memory.buckets},
      {"gathered", memory.gathered}, {"together", memory.sum()},          {"program", memory.program}};
  if (machinery.plans(machinery.layout)) {
    const PlannedWork planned = count_planned(plan, machinery, cluster.device);
    json["planned"] = {{"calls", planned.calls},       {"products", planned.products},
                       {"gathered", planned.gathered}, {"operations", planned.operations},
                       {"bytes_s", planned.bytes_s},   {"seconds", planned.seconds}};
  }
  json.update(strategies_json(predict(plan, machinery, cluster), cluster));
  json["parameters"] = nlohmann::ordered_json::array();
  for (const elaborate::Weight& weight : plan.tree.weights) {
    nlohmann::ordered_json shape = nlohmann::ordered_json::array();
    for (const Size& dim : weight.dims) {
      shape.push_back(dim ? nlohmann::ordered_json(*dim) : nlohmann::ordered_json());
    }
    json["parameters"].push_back({{"name", weight.name()}, {"shape", shape}, {"is_buffer", weight.is_buffer}});
  }
  json["unknown"] = unknown_of(plan, memory, compilation.sources);
  fmt::print("{}\n", json.dump(2));
}

const check::Experiment* choose(const check::Program& program, const std::string& name) {
  std::vector<std::string> known;
  for (const check::Experiment& experiment : program.experiments) {
    known.push_back(experiment.name);
    // Where none is named, the one with the name of the file is meant.
    const bool is_meant = name.empty() && (program.experiments.size() == 1 || experiment.name == program.name);
    if (experiment.name == name || is_meant) return &experiment;
  }
  if (known.empty()) {
    fmt::print(stderr, "error: {} has no experiment\n", program.name);
    return nullptr;
  }
  if (name.empty()) {
    fmt::print(stderr, "error: which experiment? This program has: {}\n", fmt::join(known, ", "));
    return nullptr;
  }
  fmt::print(stderr, "error: there is no experiment `{}`\n", name);
  if (const auto near = diagnostics::suggest(name, known)) fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  return nullptr;
}

/// The topology named on the command line, else the experiment's; nothing after a message.
std::optional<std::string> choose_topology(const check::Program& program, const check::Experiment& experiment,
                                           const std::string& given) {
  if (given.empty()) return experiment.topology;
  std::vector<std::string> known;
  for (const check::Topology& topology : program.topologies) {
    known.push_back(topology.name);
    if (topology.name == given) return given;
  }
  const std::string there =
      known.empty() ? "the program declares none" : fmt::format("there are {}", fmt::join(known, ", "));
  fmt::print(stderr, "error: there is no topology `{}`; {}\n", given, there);
  if (const auto near = diagnostics::suggest(given, known)) fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  return std::nullopt;
}

/// The machine that is named, measured, or meant by the kind of devices; nothing after a message.
std::optional<elaborate::Cluster> choose_machine(const PlanOptions& options, const Machinery& machinery) {
  const std::string kind = machinery.kind == "auto" ? "cpu" : machinery.kind;
  if (options.measure && kind != "cpu") {
    fmt::print(stderr,
               "error: --measure measures this machine's CPU, and the devices are {}\n  = help: name a machine: "
               "--machine {}\n",
               machinery.kind, elaborate::cluster_of_kind(kind).name);
    return std::nullopt;
  }
  if (options.measure) return measure_machine();
  if (options.machine.empty()) return elaborate::cluster_of_kind(kind);
  if (const elaborate::Cluster* found = elaborate::find_cluster(options.machine)) return *found;
  if (std::filesystem::is_regular_file(options.machine)) return read_machine(options.machine);
  std::vector<std::string> known;
  for (const elaborate::Cluster& one : elaborate::clusters()) known.push_back(one.name);
  fmt::print(stderr, "error: there is no machine and no file `{}`; known are {}\n", options.machine,
             fmt::join(known, ", "));
  if (const auto near = diagnostics::suggest(options.machine, known))
    fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  return std::nullopt;
}

/// Why the steps of a run have no plan, as the runtime has it (`runtime/train/plan_runner.cpp`); "" if they have.
std::string find_op_by_op(const PlanOptions& options, const Machinery& machinery, const check::Experiment& experiment,
                          Compilation& compilation) {
  if (options.backend == "torch") return "as --backend torch has it";
  if (machinery.kind == "cuda") return "the run computes on a GPU";
  if (machinery.precision != "f32" && machinery.precision != "bf16")
    return "the run computes in " + machinery.precision;
  const ir::Module module = to_ir(compilation, "", nullptr);
  for (const ir::ExperimentInfo& one : module.tables->experiments) {
    if (one.name != experiment.name) continue;
    for (const ir::StepInfo& step : one.steps) {
      const auto found = step.role == kTrainRole ? ir::find_unplanned(module, step.fn) : std::nullopt;
      if (found)
        return fmt::format("it {} ({}:{})", reason_of(found->what), module.files[found->loc.file], found->loc.line);
    }
  }
  return "";
}

/// False after a message: the device computes in this precision.
bool check_precision(const elaborate::Device& device, const std::string& precision) {
  if (device.flops(precision) > 0) return true;
  fmt::print(stderr,
             "error: {} has no {}\n  = help: another machine with --machine, or another precision in the topology\n",
             device.name, precision);
  return false;
}

}  // namespace

std::string bytes_text(double bytes) { return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}); }

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

int run_plan(const PlanOptions& options, const Common& common) {
  Compilation compilation;
  analyze(options.file, common, compilation);
  if (const int status = report(compilation, common); status != kOk) return status;
  const check::Program& program = *compilation.program;
  const check::Experiment* experiment = choose(program, options.experiment);
  if (experiment == nullptr) return kUsage;
  const auto topology = choose_topology(program, *experiment, options.topology);
  if (!topology) return kUsage;
  elaborate::Options numbers;
  numbers.count_characters = [&](const std::string& path) { return count_characters(path, options.file); };
  TopologySets topology_sets;
  for (const std::string& set : options.sets) {
    if (!read_set(set, program, numbers, topology_sets)) return kUsage;
  }
  if (!options.devices.empty()) topology_sets["devices"] = options.devices;
  auto machinery = read_topology(program, *experiment, *topology, topology_sets, numbers);
  if (!machinery) return kUsage;
  machinery->op_by_op = find_op_by_op(options, *machinery, *experiment, compilation);
  numbers.world = machinery->devices();
  const auto machine = choose_machine(options, *machinery);
  if (!machine || !check_precision(machine->device, machinery->precision)) return kUsage;
  const Plan plan = elaborate::elaborate(program, *experiment, numbers);
  for (const std::string& rule : plan.broken) fmt::print(stderr, "error: these numbers break `{}`\n", rule);
  if (!plan.broken.empty()) return kErrors;
  if (options.json) {
    print_json(experiment->name, plan, *machinery, *machine, compilation);
  } else {
    print_plan(experiment->name, plan, *machinery, *machine, compilation);
  }
  return kOk;
}

}  // namespace ltr::driver
