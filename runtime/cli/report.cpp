#include "runtime/cli/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "doors/number.h"
#include "runtime/cli/value_text.h"
#include "runtime/cli/version.h"
#include "runtime/tensor/handle.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;

/// Tensors that an optimizer keeps for each weight.
int64_t states_of(const Str& rule) {
  if (rule == "SGD" || rule == "Sgd") return 1;
  if (rule == "RMSprop" || rule == "Adagrad" || rule == "Lion") return 1;
  return 2;
}

struct Sums {
  int64_t trained = 0;
  int64_t buffers = 0;
  double bytes = 0;
};

Sums sums_of(const ModelRoot& root) {
  Sums sums;
  for (const Entry& entry : root.weights()) {
    const In tensor(entry.tensor);
    sums.trained += tensor->numel();
    sums.bytes += double(tensor->nbytes());
  }
  for (const Entry& entry : root.buffers()) sums.buffers += In(entry.tensor)->numel();
  return sums;
}

double optimizer_bytes(const ModelRoot& root) {
  double bytes = 0;
  for (const OptimizerEntry& optimizer : root.optimizers()) {
    for (const GroupEntry& group : optimizer.groups) {
      for (const Str& path : group.paths) {
        for (const Entry& entry : root.weights()) {
          if (entry.path == path) bytes += double(In(entry.tensor)->nbytes()) * double(states_of(optimizer.rule));
        }
      }
    }
  }
  return bytes;
}

/// The blocks worth a row: the members of the model, or of its only member.
std::vector<BlockEntry> rows_of(const ModelRoot& root) {
  constexpr size_t kMostRows = 24;
  const std::vector<BlockEntry> blocks = root.blocks();
  int64_t deepest = 0;
  for (const BlockEntry& block : blocks) deepest = std::max(deepest, block.depth);
  std::vector<BlockEntry> rows;
  for (int64_t depth = 1; depth <= deepest; ++depth) {
    std::vector<BlockEntry> level;
    for (const BlockEntry& block : blocks) {
      // A block without blocks of its own stays at every level.
      const bool is_leaf = std::none_of(blocks.begin(), blocks.end(), [&](const BlockEntry& other) {
        return other.depth > block.depth && other.path.starts_with(block.path + ".");
      });
      if (block.depth == depth || (block.depth > 0 && block.depth < depth && is_leaf)) level.push_back(block);
    }
    if (!rows.empty() && level.size() > kMostRows) break;
    const bool is_enough = rows.size() > 1;
    if (is_enough) break;
    rows = std::move(level);
  }
  return rows;
}

Str plural(int64_t count, const Str& one) {
  const Str many = one + (one == "batch" ? "es" : "s");
  return fmt::format("{} {}", with_commas(count), count == 1 ? one : many);
}

}  // namespace

Str headline(const Start& start, const Str& run) {
  Str out = start.experiment->name;
  if (!run.empty()) out += " · " + run;
  return out + fmt::format(" · seed {} · cpu, {} · LibTorch {}\n", start.trainer.seed, start.precision,
                           libtorch_version().substr(0, libtorch_version().rfind('.')));
}

Str model_table(const Start& start) {
  const std::vector<BlockEntry> rows = rows_of(*start.root);
  size_t name_width = 4;
  size_t kind_width = 4;
  for (const BlockEntry& row : rows) {
    name_width = std::max(name_width, row.path.size());
    kind_width = std::max(kind_width, row.kind.size());
  }
  Str out = fmt::format("  {:<{}}  {:<{}}  {:>14}\n", "name", name_width, "type", kind_width, "weights");
  for (const BlockEntry& row : rows) {
    out += fmt::format("  {:<{}}  {:<{}}  {:>14}\n", row.path, name_width, row.kind, kind_width,
                       with_commas(row.all_weights));
  }
  const Sums sums = sums_of(*start.root);
  out += fmt::format("  {} trainable, {} frozen · {} weights, {} with optimizer\n", with_commas(sums.trained),
                     with_commas(sums.buffers), bytes_text(sums.bytes),
                     bytes_text(sums.bytes + optimizer_bytes(*start.root)));
  return out;
}

Str plan_line(const Start& start, int64_t planned) {
  Str out;
  for (const StreamSize& size : stream_sizes(start)) {
    if (!out.empty()) out += " · ";
    out += out.empty()
               ? fmt::format("{} {}, {}", size.name, plural(size.samples, "sample"), plural(size.batches, "batch"))
               : fmt::format("{} {}, {}", size.name, with_commas(size.samples), with_commas(size.batches));
  }
  const TrainerSettings& trainer = start.trainer;
  if (trainer.epochs >= 0) out += " · " + plural(trainer.epochs, "epoch");
  if (planned >= 0) out += trainer.epochs >= 0 ? " = " + plural(planned, "step") : " · " + plural(planned, "step");
  if (trainer.max_time_s >= 0) out += " · at most " + seconds_text(trainer.max_time_s);
  int64_t counts[3] = {0, 0, 0};
  for (const ObligationInfo& one : start.program.obligations) {
    const Str fate = one.fate;
    ++counts[fate == "proven" ? 0 : fate == "at start" ? 1 : 2];
  }
  if (!start.program.obligations.empty()) {
    out += fmt::format(" · obligations: {} proven, {} checked now, {} on the first batch", counts[0], counts[1],
                       counts[2]);
  }
  return out + "\n";
}

Str end_report(const Start& start, const FitReport& report, const Str& run) {
  const auto share = [&](double seconds) {
    return report.total_s > 0 ? int64_t(std::lround(100 * seconds / report.total_s)) : 0;
  };
  Str out =
      fmt::format("{}: {}, {}, {} (train {} %, val {} %, data wait {} %, checkpoints {} %)\n", report.outcome,
                  plural(report.steps, "step"), plural(report.epochs, "epoch"), seconds_text(report.total_s),
                  share(report.train_s), share(report.val_s), share(report.data_wait_s), share(report.checkpoint_s));
  if (!report.reason.empty()) out += fmt::format("reason: {}\n", report.reason);
  if (report.skipped_updates > 0)
    out += fmt::format("{} skipped: numbers that are not finite\n", plural(report.skipped_updates, "update"));
  for (const Best& best : report.best) {
    if (std::isnan(best.value)) continue;
    const Str path = inside(run, best.path);
    out += fmt::format("best  {} {} at step {}{}\n", shown_series(best.series), short_number(best.value), best.step,
                       path.empty() ? "" : "   " + path);
  }
  Str last;
  for (const auto& [series, value] : report.last) {
    if (std::isnan(value)) continue;
    last += fmt::format("  {} {}", shown_series(series), short_number(value));
  }
  if (!last.empty()) out += "last" + last + "\n";
  for (const auto& [text, count] : warnings_so_far()) {
    out += fmt::format("warning: {}{}\n", text, count > 1 ? fmt::format(" ({} times)", count) : "");
  }
  if (run.empty()) return out;
  const Str number = fs::path(run).filename().string().substr(0, 4);
  const Str experiment = start.program.experiments.size() > 1 ? Str(" ") + start.experiment->name : "";
  out += run;
  const bool is_whole = report.exit_code == 0;
  const bool can_test = find_step(*start.experiment, Role::Test) != nullptr;
  const int64_t shown = std::atoll(number.c_str());
  if (!is_whole && !report.last_checkpoint.empty())
    out += " · go on with:  " + resume_command(start, run);
  else if (!is_whole)
    out += " · stopped before its first checkpoint";
  else if (can_test)
    out += fmt::format(" · test it:  ./{} test{} --run {}", start.program.name, experiment, shown);
  return out + "\n";
}

Str resume_command(const Start& start, const Str& run) {
  const Str experiment = start.program.experiments.size() > 1 ? Str(" ") + start.experiment->name : "";
  return fmt::format("./{} fit{} --resume {}", start.program.name, experiment, run);
}

Str shown_series(Str series) {
  std::replace(series.begin(), series.end(), '.', '/');
  return series;
}

Str inside(const Str& run, const Str& path) {
  return !run.empty() && path.starts_with(run + "/") ? path.substr(run.size() + 1) : path;
}

Str optimizer_table(const Start& start) {
  Str out;
  for (const OptimizerEntry& optimizer : start.root->optimizers()) {
    out += fmt::format("optimizer {} = {}{}\n", optimizer.name, optimizer.rule,
                       optimizer.schedule.empty() ? "" : ", schedule " + optimizer.schedule);
    for (const GroupEntry& group : optimizer.groups) {
      Str settings;
      for (const auto& [name, value] : group.settings)
        settings += fmt::format("{}{} = {}", settings.empty() ? "" : ", ", name, show(value));
      out += fmt::format("  {:<12} {:>4} weights  {}\n", group.pattern.empty() ? "all others" : group.pattern,
                         group.paths.size(), settings);
    }
  }
  return out;
}

}  // namespace ltr::cli
