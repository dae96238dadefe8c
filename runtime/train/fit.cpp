#include "runtime/train/fit.h"

#include <algorithm>
#include <cmath>

#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/train/alike.h"
#include "runtime/train/kept_buffers.h"

// The loop of runtime.md 2.3: next batch, step, maybe update, tell the listeners. A signal may leave it behind any
// window, and in any round: what is not done yet stands in the position, and a resumed run does it first.

namespace ltr {

FitReport fit(RunRequest& request, const std::function<void()>& begins) {
  check_alike(request);
  SignalWatch::enter(SignalPhase::Work);  // all ranks are here
  Fit fit(request);
  if (!request.resume.empty()) fit.open_checkpoint();
  begins();
  return fit.run();
}

FitReport Fit::run() {
  const Times::Clock::time_point begin = Times::Clock::now();
  const SignalWatch signals;
  FitReport report;
  cx_.verb = "fit";
  cx_.run_hook(Hook::run_start);
  request_.progress.begin("fit", settings_.epochs, windows_->planned());
  if (request_.recorder != nullptr && !request_.flags.bare) request_.recorder->columns(columns());
  try {
    // Whatever is thrown becomes an Error here, memory that runs out included.
    guarded([&] {
      share_weights(request_);
      divide_among_ranks(request_);
      cx_.run_hook(Hook::fit_start);
      if (!request_.resume.empty()) resume();
      if (profile_) profile_->start();
      if (request_.resume.empty()) {
        // The round is due as any other: one that a signal cuts off is the first thing that the resumed run does.
        at_.round_is_due = settings_.val_at_start;
        sanity_round();
      }
      train();
      cx_.run_hook(Hook::fit_end);
      if (request_.flags.fast_dev_run > 0) try_other_steps();
    });
  } catch (const Error& error) {
    fail(error);
    throw with_step(error);
  }
  cx_.run_hook(Hook::run_end);
  request_.progress.end();
  report.total_s = seconds_since(begin);
  fill(report);
  return report;
}

void Fit::sanity_round() {
  if (val_streams_.empty() || settings_.sanity_val <= 0 || request_.flags.bare || request_.flags.fast_dev_run > 0)
    return;
  const ProfilePart part("validation", true);
  cx_.run_hook(Hook::sanity_start);
  {
    struct Silence {
      explicit Silence(Session& session) : cx(session) { cx.is_silent = true; }
      ~Silence() { cx.is_silent = false; }
      Session& cx;
    } const silence(cx_);
    const KeptBuffers before(request_.root.state());
    pass(cx_, *val_step_, val_streams_, settings_.sanity_val);
    before.restore();
  }
  cx_.logs.drop(Role::Val);
  cx_.metric_inputs.drop(Role::Val);
  cx_.run_hook(Hook::sanity_end);
}

void Fit::train() {
  cx_.run_hook(Hook::train_start);
  times_.began = Times::Clock::now();
  times_.before_s = at_.train_s;
  cx_.agreement.begin(train_step_->is_manual ||
                          cx_.listeners.has_any({Hook::train_batch_start, Hook::train_batch_end, Hook::before_backward,
                                                 Hook::after_backward, Hook::before_step, Hook::after_step}),
                      times_);
  cx_.take_left_out(take_left_out());  // those that were met when the data was opened
  saver_.write_wanted();
  Leave leave = why_leave();
  // A run that was planned to end in the middle of an epoch still closes it.
  while (leave != Leave::Now && !is_last_epoch(at_.epoch) && !(leave == Leave::Planned && at_.is_between_epochs())) {
    leave = train_epoch(leave);
  }
  if (leave != Leave::Now) last_round();
  cx_.tell_left_out();
  at_.train_s = times_.train_s();
  cx_.late.learn_all();
  cx_.gate.check_weights();
  saver_.write_last(cx_.agreement.signal() != 0);
  saver_.settle();
  trained_s_ = times_.own_s();
  cx_.run_hook(Hook::train_end);
  flush_row();
}

Leave Fit::train_epoch(Leave leave) {
  feed_->begin_behind(at_.epoch, at_.begun);
  const int64_t batches = feed_->batches(at_.epoch);
  cx_.epoch = at_.epoch;
  request_.progress.epoch(at_.epoch, batches);
  if (at_.is_between_epochs()) cx_.run_hook(Hook::train_epoch_start);
  if (leave == Leave::No && (at_.batch < batches || at_.round_is_due)) {
    const ModeScope training(true, true);
    if (at_.round_is_due) leave = settle_window(batches);
    if (leave == Leave::No && at_.batch < batches) feed_->start(at_.epoch, at_.batch);
    while (leave == Leave::No && at_.batch < batches && run_window(batches)) {
      record_window();
      at_.round_is_due = round_is_due_in_epoch(batches);
      leave = settle_window(batches);
    }
  }
  if (leave == Leave::Now) return leave;
  if (leave == Leave::Planned && at_.batch < batches) {
    // The end of the run is not the end of the epoch: a later run with a larger limit goes on from here, not from
    // behind the rounds and sums that close this one.
    flush_row();
    saver_.write_last(false);
    saver_.pin_last();
  }
  return close_epoch(leave);
}

bool Fit::run_window(int64_t batches_of_epoch) {
  if (profile_) profile_->begin_step(at_.global_step + 1);
  const int64_t rows = std::min(windows_->rows(at_.epoch, at_.global_step), batches_of_epoch - at_.batch);
  if (!window_.run(rows, is_recorded(at_.global_step + 1))) return false;
  at_.global_step++;
  cx_.global_step = at_.global_step;
  cx_.agreement.after_window();
  at_.ends_epoch = cx_.ends_epoch;
  for (const auto& optimizer : request_.root.state().optimizers) optimizer->note_rates(at_.global_step - 1);
  const ProfilePart part("callbacks");
  cx_.listeners.each(kAfterWindow, [](Listener& one) { one.after_window(); });
  return true;
}

double Fit::last_rate(size_t optimizer) const {
  return request_.root.state().optimizers[optimizer]->noted_rate(std::max<int64_t>(at_.global_step - 1, 0));
}

void Fit::record_window() {
  if (request_.flags.bare) return;
  const ProfilePart part("logs");
  const int64_t step = at_.global_step;
  const bool is_due = is_recorded(step);
  // What is recorded only because the run ends here is no part of the row that a longer run would have.
  Named& row = is_regular(step) ? state_.rows.regular() : state_.rows.only_last();
  cx_.logs.end_window(is_due, row);
  if (is_due) {
    const auto& optimizers = request_.root.state().optimizers;
    for (size_t i = 0; i < optimizers.size(); ++i) row.emplace_back("lr/" + optimizers[i]->name(), last_rate(i));
    cx_.norms.read_into(row);
    cx_.listeners.each(kRecorded, [&](Listener& one) { one.recorded(row); });
  }
  cx_.norms.clear();
  // Between recorded steps the values of a device would be waited for.
  if ((is_due || accelerator() == nullptr) && request_.progress.wants_values()) show_values();
}

void Fit::show_values() {
  Named values;
  cx_.logs.bar_values(values);
  request_.progress.bar(values);
  shown_step_ = at_.global_step;
}

Leave Fit::settle_window(int64_t batches_of_epoch) {
  if (at_.round_is_due && !round(state_.rows.regular())) {
    flush_row();
    return Leave::Now;
  }
  at_.round_is_due = false;
  const Leave leave = why_leave();
  // At the border of an epoch its end comes first, so that the checkpoint has all of it.
  const bool is_inside = at_.batch < batches_of_epoch && (leave == Leave::No || leave == Leave::Now);
  if (is_inside || leave == Leave::Now) flush_row();
  if (is_inside) border(false);
  return leave;
}

Leave Fit::close_epoch(Leave leave) {
  if (round_is_due_by_epoch(at_.epoch + 1) && !round(state_.rows.regular())) {
    flush_row();
    return Leave::Now;
  }
  at_.epoch++;
  at_.batch = at_.begun = 0;
  at_.ends_epoch = cx_.ends_epoch = false;
  Named values;
  cx_.finish_epoch(Role::Train, Hook::train_epoch_end, values);
  Named& row = state_.rows.regular();
  row.insert(row.end(), values.begin(), values.end());
  // An epoch that logged nothing of its own shows its last step's values, not those that the bar happened to ask for.
  if (values.empty() && shown_step_ != at_.global_step && !request_.flags.bare) show_values();
  request_.progress.epoch_end(cx_.epoch, at_.global_step, values);
  cx_.record_images();
  cx_.tell_metric_inputs(Role::Train);
  cx_.tell_left_out();
  flush_row();
  cx_.listeners.each(kFresh, [](Listener& one) { one.fresh(Role::Train); });
  border(true);
  cx_.listeners.each(kEpochEnd, [](Listener& one) { one.epoch_end(); });
  if (leave == Leave::Planned) return leave;
  cx_.ends_epoch = false;  // A hook of the end asked for what is done.
  cx_.agreement.meet();
  leave = why_leave();
  return leave == Leave::EpochOver ? Leave::No : leave;
}

void Fit::border(bool epoch_ended) {
  const ProfilePart part("callbacks");
  saver_.look();
  cx_.listeners.each(kBorder, [&](Listener& one) { one.border(epoch_ended); });
  saver_.write_wanted();
}

void Fit::flush_row() {
  const ProfilePart part("logs");
  Named values = state_.rows.take(at_.global_step, cx_.epoch);
  cx_.record(std::move(values));
}

Leave Fit::why_leave() const {
  if (cx_.agreement.signal() != 0) return Leave::Now;
  if (settings_.steps >= 0 && at_.global_step >= settings_.steps) return Leave::Planned;
  if (settings_.max_time >= 0 && times_.train_s() >= settings_.max_time) return Leave::Planned;
  const bool may_stop = at_.epoch >= settings_.min_epochs && at_.global_step >= settings_.min_steps;
  if (cx_.outcome.is_stopping && may_stop) return Leave::Planned;
  return at_.ends_epoch ? Leave::EpochOver : Leave::No;
}

// ---- rounds --------------------------------------------------------------------------------------------------

/// Its values go to `row`. False if a signal cut it off: then it left no trace.
bool Fit::round(Named& row) {
  if (val_streams_.empty() || request_.flags.bare) return true;
  const ProfilePart part("validation", true);
  const Times::Clock::time_point begin = Times::Clock::now();
  request_.progress.round_begin(Role::Val, -1);
  // The hooks of a round change their callbacks' states; one that is cut off leaves no trace.
  CheckpointData before;
  SaveArchive saved(before);
  cx_.listeners.visit(saved);
  Named values;
  bool is_whole = true;
  while_evaluating(cx_.listeners, [&] {
    cx_.run_hook(Hook::val_epoch_start);
    pass(cx_, *val_step_, val_streams_, request_.flags.fast_dev_run > 0 ? request_.flags.fast_dev_run : -1);
    cx_.agreement.meet();
    is_whole = cx_.agreement.signal() == 0;
    if (is_whole) cx_.finish_epoch(Role::Val, Hook::val_epoch_end, values);
  });
  if (!is_whole) {
    cx_.logs.drop(Role::Val);
    cx_.metric_inputs.drop(Role::Val);
    LoadArchive archive(before);
    cx_.listeners.visit(archive);
    return false;
  }
  cx_.record_images();
  cx_.tell_metric_inputs(Role::Val);
  row.insert(row.end(), values.begin(), values.end());
  request_.progress.round_end(Role::Val, cx_.epoch, at_.global_step, values);
  at_.round_step = at_.global_step;
  at_.round_time_s = times_.train_s();
  times_.val_s += seconds_since(begin);
  cx_.listeners.each(kFresh, [](Listener& one) { one.fresh(Role::Val); });
  return true;
}

/// A run ends with a round, whatever was due. A longer run would not have it, so the checkpoint to go on from is written
/// before.
void Fit::last_round() {
  if (val_streams_.empty() || at_.global_step == 0 || at_.round_step == at_.global_step) return;
  // Of the epoch that ended, also where a resumed run begins behind it.
  cx_.epoch = at_.is_between_epochs() ? at_.epoch - 1 : at_.epoch;
  flush_row();
  saver_.write_last(false);
  saver_.pin_last();
  round(state_.rows.only_last());
  flush_row();
  border(false);
}

bool Fit::round_is_due_in_epoch(int64_t batches_of_epoch) {
  if (val_streams_.empty()) return false;
  const Value& every = settings_.val_every;
  switch (every.kind) {
    case Value::Kind::Int:
    case Value::Kind::Steps: {
      const auto steps =
          std::max<int64_t>(int64_t(every.kind == Value::Kind::Int ? double(every.whole) : every.real), 1);
      return at_.global_step % steps == 0;
    }
    case Value::Kind::Seconds: return times_.train_s() - at_.round_time_s >= every.real;
    case Value::Kind::Epochs: {
      if (val_parts_) return val_parts_->end_with(at_.global_step);
      if (every.real >= 1 || at_.batch >= batches_of_epoch) return false;
      // After the window in which another part of the epoch is full.
      const double part = every.real * double(batches_of_epoch);
      const int64_t rows = windows_->rows(at_.epoch, at_.global_step - 1);
      return std::floor(double(at_.batch) / part) > std::floor(double(at_.batch - rows) / part);
    }
    default: return false;
  }
}

bool Fit::round_is_due_by_epoch(int64_t epochs_done) const {
  const Value& every = settings_.val_every;
  if (every.kind != Value::Kind::Epochs || val_parts_ || at_.round_step == at_.global_step) return false;
  if (every.real < 1) return true;
  return epochs_done % std::max<int64_t>(int64_t(every.real), 1) == 0;
}

void Fit::try_other_steps() {
  for (const Role role : {Role::Val, Role::Test, Role::Predict}) {
    if (role == Role::Val && !request_.flags.bare) continue;  // its round came with the epoch
    const StepInfo* step = find_step(request_.experiment, role);
    const std::vector<size_t> streams = streams_of(request_.data, role);
    if (step == nullptr || streams.empty()) continue;
    request_.progress.round_begin(role, request_.flags.fast_dev_run);
    pass(cx_, *step, streams, request_.flags.fast_dev_run);
    request_.progress.round_end(role, at_.epoch, at_.global_step, {});
  }
}

}  // namespace ltr
