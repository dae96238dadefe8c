#include "runtime/cli/report.h"

#include <algorithm>
#include <cmath>

#include "doors/number.h"
#include "doors/shell.h"
#include "doors/wandb_file.h"
#include "runtime/cli/model_table.h"
#include "runtime/cli/version.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/log_table.h"
#include "runtime/train/root_state.h"
#include "runtime/train/step_runner.h"

namespace ltr::cli {

namespace {

/// What no step is planned for, or some are not; "" where all of them may be.
Str op_by_op_text(const RunRequest& request) {
  if (request.flags.backend == Backend::Torch) return "op by op: --backend torch";
  if (const Option<Str> reason = reason_without_plans(request)) return "op by op: it " + *reason;
  std::vector<Str> steps;
  for (const StepInfo& step : request.experiment.steps) {
    if (*step.unplanned != 0)
      steps.push_back(fmt::format("step {} op by op where it {} ({}:{})", step.name, step.unplanned,
                                  step.unplanned_at.file, step.unplanned_at.line));
  }
  return steps.empty() ? "" : fmt::format("planned, but {}", fmt::join(steps, ", "));
}

}  // namespace

Str headline(const Start& start, const Str& run, const RunRequest& request) {
  Str out = start.experiment->name;
  if (!run.empty()) out += " · " + run;
  const Str op_by_op = op_by_op_text(request);
  return out + fmt::format(" · seed {} · {}, {} · LibTorch {}{}\n", start.trainer.seed, compute_device_name(),
                           start.precision, libtorch_version().substr(0, libtorch_version().rfind('.')),
                           op_by_op.empty() ? Str(" · planned") : "\n" + op_by_op);
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
  const Str epochs = trainer.epochs >= 0 ? plural(trainer.epochs, "epoch") : "",
            steps = planned >= 0 ? plural(planned, "step") : "";
  const bool ends_by_steps = planned >= 0 && planned == trainer.steps;
  if (!epochs.empty() && !steps.empty())
    out += ends_by_steps ? fmt::format(" · {}, at most {}", steps, epochs) : fmt::format(" · {} = {}", epochs, steps);
  else if (!epochs.empty() || !steps.empty())
    out += " · " + epochs + steps;
  if (trainer.max_time >= 0) out += " · at most " + seconds_text(trainer.max_time);
  // Shapes that the compiler has proven need no word.
  int64_t at_start = 0;
  int64_t at_first = 0;
  for (const ObligationInfo& one : start.program.obligations) {
    const Str fate = one.fate;
    if (fate != "proven") ++(fate == "at start" ? at_start : at_first);
  }
  if (at_start > 0) out += fmt::format(" · {} checked", plural(at_start, "shape"));
  if (at_first > 0) out += fmt::format(" · {} to be checked on the first batch", plural(at_first, "shape"));
  return out + "\n";
}

namespace {

/// What uploads the offline folder of Weights & Biases, if the run has one.
Str upload_line(const Str& run) {
  try {
    if (const auto command = doors::WandbFolder::upload_command(run))
      return fmt::format("upload it with:  {}\n", *command);
  } catch (const std::exception&) {  // The logger has warned of a folder that it cannot read.
  }
  return "";
}

}  // namespace

Str end_report(const Start& start, const FitReport& report, const Str& run) {
  // Rounded down: parts of one whole that add up to more than it are believed by nobody.
  const auto share = [&](double seconds) { return report.total_s > 0 ? int64_t(100 * seconds / report.total_s) : 0; };
  Str out =
      fmt::format("{}: {}, {}, {} (train {} %, val {} %, data wait {} %, checkpoints {} %)\n", report.outcome,
                  plural(report.steps, "step"), plural(report.epochs, "epoch"), seconds_text(report.total_s),
                  share(report.train_s), share(report.val_s), share(report.data_wait_s), share(report.checkpoint_s));
  if (start.ranks.world() > 1) {
    // What of their way was hidden behind the rest of the backward pass.
    const double exchange_s = report.exchanged.exchange_s, wait_s = report.exchanged.wait_s;
    const double hidden = exchange_s > 0 ? std::clamp(1 - wait_s / exchange_s, 0.0, 1.0) : 1;
    out += fmt::format("{}: gradients were on their way {} % of the time, {} % of it hidden\n",
                       fmt::format("{} processes", start.ranks.world()), share(exchange_s), std::lround(100 * hidden));
  }
  if (!report.reason.empty()) out += fmt::format("reason: {}\n", report.reason);
  if (accelerator() != nullptr) {
    const DeviceMemory memory = compute_device_memory();
    out += fmt::format("memory of {}: {} at most of {}\n", compute_device_name(), bytes_text(double(memory.peak)),
                       bytes_text(double(memory.total)));
  }
  if (report.skipped_updates > 0)
    out += fmt::format("{} skipped: numbers that are not finite\n", plural(report.skipped_updates, "update"));
  if (!report.left_out_text.empty()) out += report.left_out_text + "\n";
  for (const Best& best : report.best) {
    if (std::isnan(best.value)) continue;
    const Str path = inside(run, best.path);
    out += fmt::format("best  {} {} at step {}{}\n", recorded_name(best.series), short_number(best.value), best.step,
                       path.empty() ? "" : "   " + path);
  }
  Named named;
  for (const auto& [series, value] : report.last) {
    if (!std::isnan(value)) named.emplace_back(recorded_name(series), value);
  }
  const Str last = scalars_text(named);
  if (!last.empty()) out += "last" + last + "\n";
  for (const auto& [text, count] : warnings_so_far()) {
    out += fmt::format("warning: {}{}\n", text, count > 1 ? fmt::format(" ({} times)", count) : "");
  }
  if (run.empty()) return out;
  out += upload_line(run) + run;
  const bool is_whole = report.exit_code == 0;
  if (!is_whole && !report.last_checkpoint.empty())
    out += " · saved " + inside(run, report.last_checkpoint) + " · go on with:  " + resume_command(start, run);
  else if (!is_whole)
    out += " · stopped before its first checkpoint";
  else if (find_step(*start.experiment, Role::Test) != nullptr)
    out += " · test it:  " + test_command(start, run);
  return out + "\n";
}

Division::Held held_of(const ModelRoot& root) {
  if (const auto& division = root.state().division) return division->held();
  const double weights = weight_sums(root).bytes;
  return {weights, weights, optimizer_bytes(root)};
}

namespace {

/// What other programs hold of the device, if it is worth a word.
Str held_by_others() {
  if (accelerator() == nullptr) return "";
  const DeviceMemory memory = compute_device_memory();
  const int64_t others = memory.total - memory.free - memory.reserved;
  // The driver itself takes some hundred megabytes for each process.
  constexpr int64_t kDriver = int64_t(1) << 30;
  return others > kDriver ? fmt::format(", other programs {}", bytes_text(double(others))) : "";
}

Str memory_cures(const Start& start) {
  std::vector<Str> cures{"a smaller batch with a larger accumulate"};
  if (!start.precision.starts_with("bf16") && start.precision != "f16") cures.emplace_back("precision = bf16");
  if (start.precision != "bf16_pure") cures.emplace_back("precision = bf16_pure");
  cures.emplace_back("a smaller model");
  return fmt::format("{}", fmt::join(cures, ", "));
}

}  // namespace

Str memory_table(const Start& start) {
  const Division::Held own = held_of(*start.root);
  const double held = held_bytes();
  const double rest = std::max(held - own.weights - own.gradients - own.states, 0.0);
  const bool is_device = accelerator() != nullptr;
  Str out = fmt::format("memory of {}, at the end\n", is_device ? compute_device_name() : "this process");
  for (const auto& [part, bytes] : {std::pair("weights", own.weights),
                                    {"gradients", own.gradients},
                                    {"states of optimizers", own.states},
                                    {is_device ? "values and workspaces" : "values, data and libraries", rest}})
    out += fmt::format("  {:>10}  {:>5.1f} %  {}\n", bytes_text(bytes), held > 0 ? 100 * bytes / held : 0.0, part);
  out += fmt::format("  {:>10}           in all\n", bytes_text(held));
  return out + fmt::format("  {:>10}           at most, since it began\n", bytes_text(most_held_bytes()));
}

Error with_memory(Error error, const Start& start) {
  if (error.code != err::out_of_memory.code || start.root == nullptr) return error;
  const Division::Held own = held_of(*start.root);
  const double rest = std::max(held_bytes() - own.weights - own.gradients - own.states, 0.0);
  error.help = fmt::format("held now: weights {}, gradients {}, optimizer {}, {} {}{}; what helps, in this order: {}",
                           bytes_text(own.weights), bytes_text(own.gradients), bytes_text(own.states),
                           accelerator() != nullptr ? "activations and workspaces" : "activations, data and libraries",
                           bytes_text(rest), held_by_others(), memory_cures(start));
  return error;
}

namespace {

/// `verb` of this program with what the run was given that the verb is to be given again.
Str command_for(const Start& start, const char* verb, const char* where, const Str& run) {
  const Str experiment = start.program.experiments.size() > 1 ? Str(" ") + start.experiment->name : "";
  Str out = fmt::format("{} {}{} {} {}", start.called, verb, experiment, where, doors::shell_word(run));
  for (const GivenOption& option : start.line.options) {
    const OptionInfo* info = find_option(option.name);
    const bool is_hparam = info == nullptr;
    if (Str(option.from) == "env" || !(is_hparam || (info->is_for_resumes() && info->belongs_to(verb)))) continue;
    out += " " + option.shown;
    // Only a fit can do with fewer ranks.
    const bool is_range = option.name == "nproc" && Str(verb) != "fit";
    const Str value = is_range ? option.value.substr(option.value.find(':') + 1) : option.value;
    if (!value.empty()) out += (value.starts_with("-") ? "=" : " ") + doors::shell_word(value);
  }
  return out;
}

}  // namespace

Str resume_command(const Start& start, const Str& run) { return command_for(start, "fit", "--resume", run); }

void tell_how_to_go_on(const Terminal& terminal, const Str& run, const Str& resume_command) {
  if (terminal.is_json) return;
  if (find_checkpoint(run, "last", nullptr, true).empty())
    print_err(fmt::format("failed before the first checkpoint: no step of {} is kept\n", run));
  else
    print_err(fmt::format("failed · go on with:  {}\n", resume_command));
}

Str test_command(const Start& start, const Str& run) { return command_for(start, "test", "--run", run); }

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
