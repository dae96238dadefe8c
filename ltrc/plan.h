#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dsl/elaborate/elaborate.h"
#include "dsl/elaborate/timeline.h"

namespace ltr::driver {

/// A topology as far as a plan needs it.
struct Machinery {
  std::string topology;
  std::string kind = "auto";  ///< of device: auto, cpu, cuda
  int64_t per_node = 1;
  int64_t nodes = 1;
  std::string precision = "f32";
  std::string reduce;        ///< type of gradients between ranks, "" for their own
  elaborate::Layout layout;  ///< its own strategy
  bool has_mesh = false;
  std::string block;  ///< at which weights are divided, "" if it names none
  std::vector<std::string> recompute;
  double bucket_bytes = 25.0 * 1024 * 1024;
  std::string op_by_op;  ///< why steps have no plan, "" if they have

  /// Whether the devices of this layout run plans.
  bool plans(const elaborate::Layout& on) const { return op_by_op.empty() && on.ranks() == 1; }
  int64_t devices() const { return per_node * nodes; }
};

/// Bytes on each device.
struct Memory {
  double weights = 0;
  double buffers = 0;
  double gradients = 0;
  double state = 0;        ///< of the optimizers
  double activations = 0;  ///< results kept for the backward pass
  double buckets = 0;      ///< gradients on their way
  double gathered = 0;     ///< divided weights that are whole for a while, and their gradients
  double program = 0;      ///< of the process beside its tensors, on a core; not in the sum
  std::vector<std::string> unknown;

  double sum() const { return weights + buffers + gradients + state + activations + buckets + gathered; }
};

/// `--set topology.PATH=TEXT`, by path; `--devices` is one of them.
using TopologySets = std::map<std::string, std::string>;

/// The topology `name` of the program, `{ devices = auto }` if there is none, with `sets` in place of its own settings and
/// the hparams of `numbers`. Nothing after a message.
std::optional<Machinery> read_topology(const check::Program& program, const check::Experiment& experiment,
                                       const std::string& name, const TopologySets& sets,
                                       const elaborate::Options& numbers);
/// The path of the outermost block with the code of `object` whose results are computed again; "" if there is none.
std::string recomputed_block(const elaborate::Plan& plan, const Machinery& machinery, elaborate::ObjectId object);
/// For each entry of the tape that path.
std::vector<std::string> recomputed_blocks(const elaborate::Plan& plan, const Machinery& machinery);
/// On `device` of `layout`; `work` has the blocks of the plan.
Memory count_memory(const elaborate::Plan& plan, const Machinery& machinery, const elaborate::Layout& layout,
                    const elaborate::Work& work, const elaborate::Device& device);

struct Flops {
  double forward = 0;
  double backward = 0;
  double products = 0;  ///< of both, the part of matrix products and convolutions
};
/// For one batch on one device.
Flops count_flops(const elaborate::Plan& plan);

/// Bytes of a number of this type, where `float` is what the precision makes of weights.
double bytes_of(check::Element element, const std::string& precision);
/// Bytes of a number of a result.
double result_bytes(const std::string& precision);
/// Tensors of a weight's size that an optimizer's rule keeps; nothing if the rule is not known.
std::optional<int> states_of(const elaborate::Value& rule);

/// One update of the plan on one device of `layout`.
elaborate::Work make_work(const elaborate::Plan& plan, const Machinery& machinery, const elaborate::Layout& layout,
                          const elaborate::Device& device);

/// Of a planned batch on a core.
struct PlannedWork {
  double calls = 0;       ///< of kernels
  double products = 0;    ///< FLOP of products
  double gathered = 0;    ///< and of those that gather what they multiply
  double operations = 0;  ///< of other functions
  double bytes_s = 0;     ///< in which bytes are moved
  double seconds = 0;     ///< all of it
};
PlannedWork count_planned(const elaborate::Plan& plan, const Machinery& machinery, const elaborate::Device& device);

/// A strategy on the devices of a topology. All times are simulated.
struct StrategyRow {
  elaborate::Layout layout;
  Memory memory;
  double step_s = 0;
  double efficiency = 0;     ///< speed of each device over that of one alone
  std::optional<bool> fits;  ///< nothing where the device's memory is not known
};

/// Every strategy that the devices of the topology can form.
std::vector<StrategyRow> predict(const elaborate::Plan& plan, const Machinery& machinery,
                                 const elaborate::Cluster& cluster);
/// The fastest that fits, or where that is not known the fastest; null if none fits.
const StrategyRow* best_of(const std::vector<StrategyRow>& rows);
void print_strategies(const std::vector<StrategyRow>& rows, const Machinery& machinery,
                      const elaborate::Cluster& cluster);
nlohmann::ordered_json strategies_json(const std::vector<StrategyRow>& rows, const elaborate::Cluster& cluster);

/// This machine, measured for a second: one core, the memory of one and of all, messages between two sockets.
elaborate::Cluster measure_machine();
/// Its constants, under `constants` of a plan.
nlohmann::ordered_json machine_json(const elaborate::Cluster& cluster);
/// The machine of a plan that was written with --json; nothing after a message.
std::optional<elaborate::Cluster> read_machine(const std::string& path);

/// `1.5 GiB`, `3.2 ms`.
std::string bytes_text(double bytes);
std::string seconds_text(double seconds);

}  // namespace ltr::driver
