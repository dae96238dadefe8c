#include "runtime/cli/model_table.h"

#include <algorithm>
#include <set>

#include "runtime/settings/value_text.h"
#include "runtime/tables/flops_text.h"
#include "runtime/tensor/handle.h"

namespace ltr::cli {

namespace {

int64_t depth_of(const Str& path) { return path.empty() ? 0 : 1 + std::count(path.begin(), path.end(), '.'); }

bool lies_in(const BlockEntry& block, const Str& path) { return block.path.starts_with(path + "."); }

/// A list of blocks as one row: `3 × Residual`, with the weights of all.
BlockEntry row_of_list(const std::vector<BlockEntry>& blocks, const Str& path) {
  BlockEntry row{path, "", 0, 0, 0};
  std::vector<Str> kinds;
  for (const BlockEntry& block : blocks) {
    const bool is_outermost =
        lies_in(block, path) && std::none_of(blocks.begin(), blocks.end(), [&](const BlockEntry& other) {
          return lies_in(other, path) && lies_in(block, other.path);
        });
    if (!is_outermost) continue;
    kinds.push_back(block.kind);
    row.all_weights += block.all_weights;
  }
  const bool is_uniform = std::all_of(kinds.begin(), kinds.end(), [&](const Str& kind) { return kind == kinds[0]; });
  row.kind = is_uniform ? fmt::format("{} × {}", kinds.size(), kinds[0]) : fmt::format("list of {}", kinds.size());
  return row;
}

/// The members at `depth`, lists among them, and what ends above it.
std::vector<BlockEntry> level_of(const std::vector<BlockEntry>& blocks, int64_t depth) {
  std::vector<BlockEntry> rows;
  for (const BlockEntry& block : blocks) {
    const int64_t parts = depth_of(block.path);
    if (parts > depth) {
      size_t end = 0;
      for (int64_t i = 0; i < depth; ++i) end = block.path.find('.', end + (i > 0 ? 1 : 0));
      const Str path = block.path.substr(0, end);
      const auto is_it = [&](const BlockEntry& other) { return other.path == path; };
      const bool is_known =
          std::any_of(rows.begin(), rows.end(), is_it) || std::any_of(blocks.begin(), blocks.end(), is_it);
      if (!is_known) rows.push_back(row_of_list(blocks, path));
      continue;
    }
    const bool is_leaf =
        std::none_of(blocks.begin(), blocks.end(), [&](const BlockEntry& other) { return lies_in(other, block.path); });
    if (parts == depth || (parts > 0 && is_leaf)) rows.push_back(block);
  }
  return rows;
}

const Value* summary_of(const Start& start) {
  const std::vector<Value>& callbacks = start.settings.callbacks();
  const auto found = std::ranges::find_if(callbacks, [](const Value& one) { return one.text == "Summary"; });
  return found != callbacks.end() ? &*found : nullptr;
}

/// The blocks worth a row: the members of the model, or of its only member; with `levels` above 1 what lies so deep in them.
std::vector<BlockEntry> rows_of(const ModelRoot& root, int64_t levels) {
  constexpr size_t kMostRows = 24;
  if (levels == 0) return {};
  const std::vector<BlockEntry> blocks = root.blocks();
  int64_t deepest = 0;
  for (const BlockEntry& block : blocks) deepest = std::max(deepest, depth_of(block.path));
  std::vector<BlockEntry> rows;
  int64_t depth = 1;
  for (; depth <= deepest && rows.size() <= 1; ++depth) {
    std::vector<BlockEntry> level = level_of(blocks, depth);
    if (!rows.empty() && level.size() > kMostRows) break;
    rows = std::move(level);
  }
  // `depth` is the level behind the one that was taken.
  return levels == 1 || rows.empty() ? rows : level_of(blocks, std::min(depth + levels - 2, deepest));
}

struct Row {
  BlockEntry block;
  Str output;
  Str forward;
};

/// What the compiler counted of a block, or of all blocks of a list, whose result is that of the last.
Row counted(const BlockEntry& block, const std::vector<LayerCost>& layers) {
  Row row{block, "", ""};
  double flops = 0;
  bool is_known = true;
  for (const LayerCost& layer : layers) {
    const Str path = layer.path;
    const bool is_element = block.kind.find(' ') != Str::npos && path.starts_with(block.path + ".") &&
                            path.find('.', block.path.size() + 1) == Str::npos;
    if (path != block.path && !is_element) continue;
    row.output = layer.output;
    is_known = is_known && layer.flops >= 0;
    flops += layer.flops;
  }
  if (!row.output.empty()) row.forward = is_known ? flops_text(flops) : "?";
  return row;
}

}  // namespace

Str why_not_counted(const Start& start) {
  Str changed;
  for (const Resolved& setting : start.settings.resolved()) {
    const bool is_own = setting.path.starts_with("data.") || setting.path.starts_with("model.");
    const bool may_size = setting.type != "float" && setting.type != "path";
    if (is_own && may_size && setting.from != "default" && setting.from != "experiment")
      return fmt::format("they are not counted with `{}` given", setting.path);
    for (const SizedBy& one : start.experiment->sized_by) {
      if (setting.path == one.hparam && show(setting.value) != one.value)
        changed += fmt::format(" --set {}={}", setting.path, show(setting.value));
    }
  }
  if (!changed.empty())
    return fmt::format("ltrc plan {}.ltr {}{}", start.program.name, start.experiment->name, changed);
  const std::vector<BlockEntry> blocks = start.root->blocks();
  for (const LayerCost& layer : start.experiment->layers) {
    const auto block = std::ranges::find(blocks, Str(layer.path), &BlockEntry::path);
    if (block != blocks.end() && block->all_weights != layer.weights)
      return fmt::format("{} has other weights than when the program was built", layer.path);
  }
  return start.experiment->layers.empty() ? "nothing was counted" : "";
}

WeightSums weight_sums(const ModelRoot& root) {
  WeightSums sums;
  std::set<Str> moved;
  for (const OptimizerEntry& optimizer : root.optimizers()) {
    for (const GroupEntry& group : optimizer.groups) moved.insert(group.paths.begin(), group.paths.end());
  }
  for (const Entry& entry : root.weights()) {
    const In tensor(entry.tensor);
    (moved.contains(entry.path) ? sums.trained : sums.frozen) += tensor->numel();
    sums.bytes += double(tensor->nbytes());
  }
  for (const Entry& entry : root.buffers()) (entry.is_weight ? sums.frozen : sums.buffers) += In(entry.tensor)->numel();
  return sums;
}

double optimizer_bytes(const ModelRoot& root) {
  double bytes = 0;
  for (const OptimizerEntry& optimizer : root.optimizers()) bytes += optimizer.state_bytes;
  return bytes;
}

bool shows_model(const Start& start) { return summary_of(start) != nullptr; }

Str model_table(const Start& start) {
  const Value* summary = summary_of(start);
  const Value* depth = summary != nullptr ? summary->find("depth") : nullptr;
  const Value* flops = summary != nullptr ? summary->find("flops") : nullptr;
  const ExperimentInfo& experiment = *start.experiment;
  const bool wants_costs = !experiment.layers.empty() && (flops == nullptr || flops->as_bool());
  const Str missing = wants_costs ? why_not_counted(start) : "";
  const bool has_costs = wants_costs && missing.empty();
  std::vector<Row> rows;
  for (const BlockEntry& block : rows_of(*start.root, depth != nullptr ? depth->as_int() : 1))
    rows.push_back(has_costs ? counted(block, experiment.layers) : Row{block, "", ""});
  size_t name = 4, kind = 4, output = 6;
  for (const Row& row : rows) {
    name = std::max(name, row.block.path.size());
    kind = std::max(kind, row.block.kind.size());
    output = std::max(output, row.output.size());
  }
  Str out;
  const auto add = [&](const Str& path, const Str& type, const Str& size, const Str& weights, const Str& forward) {
    out += fmt::format("  {:<{}}  {:<{}}", path, name, type, kind);
    if (has_costs) out += fmt::format("  {:<{}}", size, output);
    out += fmt::format("  {:>14}", weights);
    if (has_costs) out += fmt::format("  {:>13}", forward);
    out += "\n";
  };
  if (!rows.empty()) add("name", "type", "output", "weights", "forward");
  for (const Row& row : rows)
    add(row.block.path, row.block.kind, row.output, with_commas(row.block.all_weights), row.forward);
  const WeightSums sums = weight_sums(*start.root);
  out += fmt::format("  {} trainable, {} frozen{} · {} weights, {} with optimizer", with_commas(sums.trained),
                     with_commas(sums.frozen),
                     sums.buffers > 0 ? fmt::format(", {} in buffers", with_commas(sums.buffers)) : "",
                     bytes_text(sums.bytes), bytes_text(sums.bytes + optimizer_bytes(*start.root)));
  if (has_costs && experiment.forward_flops >= 0)
    out += fmt::format(" · a sample takes {} forward, {} backward", flops_text(experiment.forward_flops),
                       flops_text(experiment.backward_flops));
  out += "\n";
  if (!missing.empty() && !rows.empty()) out += fmt::format("  sizes and FLOPs: {}\n", missing);
  return out;
}

}  // namespace ltr::cli
