#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ltrc/plan.h"

namespace ltr::driver {

namespace {

using elaborate::Cluster;
using elaborate::Layout;
using elaborate::Plan;
using elaborate::Strategy;

/// Left free for the allocator, the libraries and what is not counted.
constexpr double kUsable = 0.9;

/// The mesh of each strategy on these devices. Copies lie on different nodes, as far as there are several; a mesh of
/// two axes says it otherwise.
std::vector<Layout> layouts_of(const Machinery& machinery) {
  const int64_t devices = machinery.devices(), per_node = machinery.per_node;
  std::vector<Layout> layouts = {{Strategy::Single, 1, 1, per_node}};
  if (devices == 1) return layouts;
  layouts.push_back({Strategy::Ddp, devices, 1, per_node});
  for (const Strategy strategy : {Strategy::Zero1, Strategy::Zero2, Strategy::Fsdp})
    layouts.push_back({strategy, 1, devices, per_node});
  const bool is_own = machinery.layout.strategy == Strategy::Hsdp;
  if (is_own) layouts.push_back(machinery.layout);
  if (!is_own && machinery.nodes > 1 && per_node > 1)
    layouts.push_back({Strategy::Hsdp, machinery.nodes, per_node, per_node});
  return layouts;
}

std::string mesh_text(const Layout& layout) {
  return layout.replica > 1 && layout.fsdp > 1 ? fmt::format("{} x {}", layout.replica, layout.fsdp)
                                               : std::to_string(layout.ranks());
}

std::string link_text(const elaborate::Link& link, const char* where) {
  return fmt::format("{} {}, {:.4g} GB/s and {:.3g} us ({})", link.name, where, link.bandwidth / 1e9,
                     link.latency_s * 1e6, link.source);
}

}  // namespace

std::vector<StrategyRow> predict(const Plan& plan, const Machinery& machinery, const Cluster& cluster) {
  std::vector<StrategyRow> rows;
  for (const Layout& layout : layouts_of(machinery)) {
    const elaborate::Device device = cluster.shared_by(layout.on_node());
    const elaborate::Work work = make_work(plan, machinery, layout, device);
    StrategyRow row{
        layout, count_memory(plan, machinery, layout, work, device), elaborate::step_s(work, layout, cluster), 1, {}};
    if (!rows.empty()) row.efficiency = rows.front().step_s / row.step_s;
    if (device.memory_bytes > 0) row.fits = row.memory.sum() <= kUsable * device.memory_bytes;
    rows.push_back(std::move(row));
  }
  return rows;
}

const StrategyRow* best_of(const std::vector<StrategyRow>& rows) {
  // One device alone has the best efficiency; the most is done by all of them.
  const StrategyRow* best = nullptr;
  for (const StrategyRow& row : rows) {
    const bool is_faster = best == nullptr || double(row.layout.ranks()) * row.efficiency >
                                                  double(best->layout.ranks()) * best->efficiency;
    if (row.fits.value_or(true) && is_faster) best = &row;
  }
  return best;
}

void print_strategies(const std::vector<StrategyRow>& rows, const Machinery& machinery, const Cluster& cluster) {
  const elaborate::Device& device = cluster.device;
  fmt::print("\nstrategies, simulated for {}\n", cluster.name);
  fmt::print("  each device: products at {:.4g} GFLOP/s, memory at {:.4g} GB/s ({})\n",
             device.flops(machinery.precision) * device.share / 1e9, device.bandwidth / 1e9, device.source);
  if (machinery.devices() > 1) fmt::print("  messages: {}\n", link_text(cluster.within, "within a node"));
  if (machinery.nodes > 1) fmt::print("  messages: {}\n", link_text(cluster.between, "between nodes"));
  fmt::print("  {:<8}  {:>9}  {:>10}  {:>10}  {:>10}  {:>11}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n", "strategy", "mesh",
             "weights", "gradients", "optimizer", "activations", "transient", "together", "update", "efficiency",
             "fits");
  for (const StrategyRow& row : rows) {
    const Memory& memory = row.memory;
    const char* mark = !row.fits ? "?" : *row.fits ? "yes" : "no";
    fmt::print("  {:<8}  {:>9}  {:>10}  {:>10}  {:>10}  {:>11}  {:>10}  {:>10}  {:>10}  {:>9.0f}%  {}\n",
               elaborate::to_text(row.layout.strategy), mesh_text(row.layout),
               bytes_text(memory.weights + memory.buffers), bytes_text(memory.gradients), bytes_text(memory.state),
               bytes_text(memory.activations), bytes_text(memory.buckets + memory.gathered), bytes_text(memory.sum()),
               seconds_text(row.step_s), row.efficiency * 100, mark);
  }
  if (const StrategyRow* best = best_of(rows); best != nullptr && rows.size() > 1) {
    fmt::print("fastest{}: {}\n", best->fits ? " that fits" : "", elaborate::to_text(best->layout.strategy));
  } else if (best == nullptr) {
    const auto least = std::min_element(rows.begin(), rows.end(), [](const StrategyRow& a, const StrategyRow& b) {
      return a.memory.sum() < b.memory.sum();
    });
    fmt::print("none fits: {} needs least, {} of {}\n", elaborate::to_text(least->layout.strategy),
               bytes_text(least->memory.sum()), bytes_text(cluster.shared_by(least->layout.on_node()).memory_bytes));
  }
  if (machinery.devices() > 1 && machinery.block.empty())
    fmt::print(
        "no block is named to divide weights at (`shard weights over fsdp at BLOCK`): fsdp gathers all of them at "
        "once\n");
  if (cluster.device.memory_bytes == 0)
    fmt::print("fits ?: how much memory a device of {} has is not known{}\n", cluster.name,
               machinery.kind == "cuda" ? "" : "; --measure takes this machine's");
  if (!machinery.recompute.empty())
    fmt::print("with {} computed again in the backward pass\n", fmt::join(machinery.recompute, ", "));
}

nlohmann::ordered_json strategies_json(const std::vector<StrategyRow>& rows, const Cluster& cluster) {
  nlohmann::ordered_json json;
  json["machine"] = cluster.name;
  json["is_simulated"] = true;
  const StrategyRow* best = best_of(rows);
  json["best"] =
      best != nullptr ? nlohmann::ordered_json(elaborate::to_text(best->layout.strategy)) : nlohmann::ordered_json();
  json["sources"] = {
      {"device", cluster.device.source}, {"within", cluster.within.source}, {"between", cluster.between.source}};
  json["constants"] = machine_json(cluster);
  json["strategies"] = nlohmann::ordered_json::array();
  for (const StrategyRow& row : rows) {
    const Memory& memory = row.memory;
    json["strategies"].push_back({{"strategy", elaborate::to_text(row.layout.strategy)},
                                  {"replica", row.layout.replica},
                                  {"fsdp", row.layout.fsdp},
                                  {"bytes",
                                   {{"weights", memory.weights},
                                    {"buffers", memory.buffers},
                                    {"gradients", memory.gradients},
                                    {"optimizer", memory.state},
                                    {"activations", memory.activations},
                                    {"buckets", memory.buckets},
                                    {"gathered", memory.gathered},
                                    {"together", memory.sum()},
                                    {"program", memory.program}}},
                                  {"update_s", row.step_s},
                                  {"efficiency", row.efficiency},
                                  {"fits", row.fits ? nlohmann::ordered_json(*row.fits) : nlohmann::ordered_json()}});
  }
  return json;
}

}  // namespace ltr::driver
