#include "dsl/check/experiment/training_length.h"

#include <algorithm>

#include "dsl/check/experiment/record_counts.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// What the one stream that is trained on delivers in an epoch.
std::optional<Batches> train_batches(Context& cx, const Experiment& experiment) {
  std::optional<Batches> batches;
  size_t count = 0;
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) {
    if (stream.role != kTrainRole || stream.value.type.is_error()) continue;
    batches = batches_of(stream, experiment, cx);
    ++count;
  }
  return count == 1 ? batches : std::nullopt;
}

/// The steps of an epoch of one rank.
struct EpochSteps {
  int64_t most = 0;
  bool is_exact = false;
};

/// `count` gives the number that a setting is, if the program tells.
template <class Count>
EpochSteps steps_of(const Batches& batches, const Experiment& experiment, const Count& count) {
  EpochSteps steps{batches.most(), batches.is_exact && experiment.topology.empty()};
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const SettingValue* setting = find_setting(experiment.trainer, name);
    if (setting == nullptr || setting->value.is<node::NoneConst>()) return std::nullopt;
    const std::optional<int64_t> value = count(*setting);
    if (!value || *value < 0) steps.is_exact = false;
    return value && *value > 0 ? value : std::nullopt;
  };
  for (const char* limit : {"overfit", "limit_train"})
    steps.most = std::min(steps.most, number(limit).value_or(steps.most));
  std::optional<int64_t> joined = number("accumulate");
  if (const auto samples = number("global_batch"); samples && *samples % batches.size == 0)
    joined = *samples / batches.size;
  if (joined) steps.most = (steps.most - 1) / *joined + 1;
  steps.most = std::min(steps.most, number("steps_per_epoch").value_or(steps.most));
  return steps;
}

}  // namespace

std::optional<int64_t> TrainingLength::said_in(host::Measure measure) const {
  if (measure == host::Measure::Epochs) return epochs;
  return measure == host::Measure::Steps ? steps : std::nullopt;
}

std::optional<int64_t> TrainingLength::all_in(host::Measure measure) const {
  const auto said = said_in(measure);
  return said || measure != host::Measure::Steps ? said : counted_steps;
}

std::optional<int64_t> TrainingLength::most_in(host::Measure measure) const {
  if (const auto said = said_in(measure)) return said;
  if (measure == host::Measure::Epochs) return most_epochs;
  return measure == host::Measure::Steps ? most_steps : std::nullopt;
}

Span TrainingLength::end_of(host::Measure measure) const {
  const bool is_of_steps = has_steps && (measure == host::Measure::Steps || !has_epochs);
  return is_of_steps ? steps_span : epochs_span;
}

TrainingLength training_length(Context& cx, const Experiment& experiment) {
  TrainingLength length;
  const Object none;
  const auto count = [&](const SettingValue& setting) -> std::optional<int64_t> {
    const Wired wired = wire(setting.value, none, {}, experiment, cx.program);
    const auto value = evaluate(wired.expr, cx.program);
    if (!value || value->kind != HostValue::Kind::Int) return std::nullopt;
    length.is_written = length.is_written && setting.value.is<node::IntConst>();
    return value->whole;
  };
  if (const SettingValue* steps = find_setting(experiment.trainer, "steps")) {
    length.has_steps = true;
    length.steps = count(*steps);
    length.steps_span = steps->span;
  }
  if (const SettingValue* epochs = find_setting(experiment.trainer, "epochs")) {
    length.has_epochs = true;
    length.epochs = count(*epochs);
    length.epochs_span = epochs->span;
  }
  if (length.has_steps == length.has_epochs) return length;
  const auto batches = train_batches(cx, experiment);
  if (!batches || batches->most() <= 0) return length;
  const EpochSteps epoch = steps_of(*batches, experiment, count);
  if (length.steps && epoch.is_exact) length.most_epochs = (*length.steps - 1) / epoch.most + 1;
  int64_t most = 0;
  if (!length.epochs || __builtin_mul_overflow(*length.epochs, epoch.most, &most)) return length;
  length.most_steps = most;
  if (epoch.is_exact) length.counted_steps = most;
  return length;
}

}  // namespace ltr::check
