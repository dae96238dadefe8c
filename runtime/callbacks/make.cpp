#include "runtime/callbacks/make.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/program_callback.h"
#include "runtime/train/root_state.h"
#include "runtime/train/session.h"

namespace ltr {

namespace {

struct Row {
  const char* name;
  Turn turn;
  /// Null: it lives in the terminal, is always on, or made together with others. A maker that gives null: this run
  /// has no use for it.
  ListenerPtr (*make)(const Value& call, const FitView& view);
};

constexpr Row kRows[] = {
    {"Checkpoint", Turn::Checkpoint, make_checkpoint},
    {"DeviceStats", Turn::Listed, make_device_stats},
    {"EarlyStop", Turn::EarlyStop, make_early_stop},
    {"Ema", Turn::Weights, make_ema},
    {"FreezeUntil", Turn::Weights, nullptr},
    {"GradNorm", Turn::Listed, make_grad_norm},
    {"Histograms", Turn::Listed, make_histograms},
    {"ImageGrid", Turn::Listed, make_image_grid},
    {"LrMonitor", Turn::Listed, make_lr_monitor},
    {"Notify", Turn::Listed, make_notify},
    {"SamplePredictions", Turn::Listed, make_sample_predictions},
    {"SpikeGuard", Turn::Listed, make_spike_guard},
    {"Swa", Turn::Weights, make_swa},
    {"Throughput", Turn::Listed, make_throughput},
    {"Timer", Turn::Listed, make_timer},
    {"ProgressBar", Turn::Listed, nullptr},
    {"Summary", Turn::Listed, nullptr},
    {"StopOnSignal", Turn::Listed, nullptr},
    {"Unfreeze", Turn::Weights, nullptr},
};

/// R2006 where two callbacks write into one file of `samples/`.
void refuse_equal_samples(const std::vector<Value>& calls) {
  std::set<Str> files;
  for (const Value& call : calls) {
    const char* name = call.text == "ImageGrid" ? "field" : call.text == "SamplePredictions" ? "stream" : nullptr;
    if (name == nullptr) continue;
    const Str file = call.text + " " + text_argument(call, "stream", "val") + " " + text_argument(call, name, "val");
    if (!files.insert(file).second)
      throw error_at(call.location, err::settings_contradict,
                     fmt::format("two callbacks {} write one file", call.text));
  }
}

Error unknown_callback(const Value& call) {
  Str known;
  for (const Row& row : kRows) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  return with_help(error_at(call.location, err::unknown_setting, fmt::format("callback {} in this version", call.text)),
                   fmt::format("there are {} and those of the program", known));
}

}  // namespace

void make_listeners(const FitView& view, Listeners& listeners) {
  RunRequest& request = view.request;
  std::unordered_map<Str, int> instances;
  const auto key_of = [&](const Str& name) { return fmt::format("{}#{}", name, instances[name]++); };
  const auto add = [&](const Row& row, const Value& call) {
    const Str key = key_of(row.name);
    if (row.make == nullptr) return;
    if (ListenerPtr made = row.make(call, view)) listeners.add(row.turn, key, std::move(made));
  };
  refuse_equal_samples(request.callbacks);
  int averages = 0;
  for (const Value& call : request.callbacks) {
    if (find_callback(request.program, call.text) != nullptr) continue;  // the session has those of the program
    const Row* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) { return call.text == one.name; });
    if (row == std::end(kRows)) throw unknown_callback(call);
    if ((call.text == "Ema" || call.text == "Swa") && ++averages > 1) {
      throw error_at(call.location, err::settings_contradict, "two callbacks average the weights");
    }
    add(*row, call);
  }
  if (ListenerPtr freezing = make_freezing(view)) listeners.add(Turn::Weights, "freezing", std::move(freezing));
  for (const auto& optimizer : request.root.state().optimizers) {
    const Str name = "plateau of " + optimizer->name();
    for (optim::Plateau* plateau : optimizer->plateaus()) {
      listeners.add(Turn::Plateau, key_of(name), make_plateau(*optimizer, *plateau, view));
    }
  }
}

}  // namespace ltr
