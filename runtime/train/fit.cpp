#include "runtime/train/fit.h"

#include <algorithm>
#include <cmath>

#include "runtime/loggers/logger.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/threads.h"

// The loop of runtime.md 2.3: next batch, step, maybe update, tell the listeners. What listeners do is in
// fit_listeners.cpp, what a checkpoint holds in fit_resume.cpp.

namespace ltr {

FitReport fit(RunRequest& request) {
  share_cores();
  return Fit(request).run();
}

FitReport Fit::run() {
  const Clock::time_point begin = Clock::now();
  const SignalWatch signals;
  FitReport report;
  cx_.verb = "fit";
  cx_.run_hook(Hook::run_start);
  request_.progress.begin("fit", settings_.epochs, windows_->planned());
  if (request_.recorder != nullptr && !request_.flags.bare) request_.recorder->columns(columns());
  try {
    cx_.run_hook(Hook::fit_start);
    if (request_.resume.empty()) {
      sanity_round();
    } else {
      resume();
    }
    train();
    cx_.run_hook(Hook::fit_end);
    if (request_.flags.fast_dev_run > 0) try_other_steps();
  } catch (const Error& error) {
    fail(error);
    throw;
  }
  cx_.run_hook(Hook::run_end);
  request_.progress.end();
  report.total_s = seconds_since(begin);
  fill(report);
  return report;
}

void Fit::sanity_round() {
  if (val_streams_.empty() || settings_.sanity_val <= 0 || request_.flags.bare || request_.flags.fast_dev_run > 0) return;
  cx_.run_hook(Hook::sanity_start);
  // Hooks, logs and callbacks stay silent: the results are thrown away.
  Hooks silent;
  std::swap(silent, cx_.hooks);
  pass(cx_, *val_step_, val_streams_, settings_.sanity_val);
  std::swap(silent, cx_.hooks);
  cx_.logs.drop(Role::Val);
  cx_.run_hook(Hook::sanity_end);
}

void Fit::train() {
  cx_.run_hook(Hook::train_start);
  began_ = Clock::now();
  write_wanted();
  throughput_time_ = began_;
  train_before_s_ = at_.train_s;
  Leave leave = why_leave();
  while (leave != Leave::Planned && leave != Leave::Now && (settings_.epochs < 0 || at_.epoch < settings_.epochs)) {
    leave = train_epoch(at_.epoch);
  }
  at_.train_s = train_before_s_ + seconds_since(began_);
  final_checkpoint();
  cx_.run_hook(Hook::train_end);
  flush_row();
}

Leave Fit::train_epoch(int64_t epoch) {
  const int64_t batches = feed_->batches(epoch);
  cx_.epoch = epoch;
  cx_.ends_epoch = false;
  request_.progress.epoch(epoch, batches);
  if (at_.batch == 0) cx_.run_hook(Hook::train_epoch_start);

  Leave leave = Leave::No;
  if (at_.batch < batches) {
    feed_->start(epoch, at_.batch);
    const ModeScope training(true, true);
    while (leave == Leave::No && at_.batch < batches && run_window(batches)) {
      record_step();
      if (round_is_due_in_epoch(batches)) round();
      leave = why_leave();
      // At the border of an epoch its end comes first, so that the checkpoint has all of it.
      if (leave == Leave::No && at_.batch < batches) {
        flush_row();
        save_if_due(false);
      }
    }
  }
  if (leave == Leave::Now) {
    flush_row();
    return leave;
  }
  if (leave == Leave::Planned && at_.batch < batches) {
    // The end of the run is not the end of the epoch: a later run with a larger limit goes on from here, not from
    // behind the rounds and sums that close this one.
    flush_row();
    final_checkpoint();
    keeps_position_ = true;
  }
  end_train_epoch(leave);
  if (leave != Leave::Planned) leave = why_leave();
  return leave == Leave::EpochOver ? Leave::No : leave;
}

bool Fit::run_window(int64_t batches_of_epoch) {
  const int64_t rows = std::min(windows_->rows(at_.epoch, at_.global_step), batches_of_epoch - at_.batch);
  double total = 0;
  for (int64_t row = 0; rows > 1 && row < rows; row++) total += nominal_weight(at_.batch + row);
  cx_.begin_window();
  cx_.measure_grads = nullptr;
  if (grad_norm_ && is_recorded(at_.global_step + 1) && !request_.flags.bare) {
    cx_.measure_grads = [this](const Optimizer& optimizer, Named& values) {
      if (measures_grads_of(optimizer)) grad_norm_->measure(optimizer, values);
    };
  }
  for (int64_t row = 0; row < rows; row++) {
    if (!next_batch()) {
      if (row == 0) return false;
      break;
    }
    const double share = rows == 1 ? 1.0 : (counts_field_ >= 0 ? weight_of(batch_) : nominal_weight(at_.batch)) / total;
    cx_.set_row(share, row + 1 == rows, weight_of(batch_));
    cx_.batch_index = at_.batch;
    cx_.run_hook(Hook::train_batch_start);
    cx_.run_step(*train_step_, batch_, train_stream_, uint64_t(at_.batch_counter));
    cx_.run_hook(Hook::train_batch_end);
    at_.batch++;
    at_.batch_counter++;
    at_.samples += batch_.size;
    request_.progress.batch(at_.batch, batch_.size, at_.global_step + (row + 1 == rows ? 1 : 0));
    if (cx_.ends_epoch) break;
  }
  cx_.finish_window();
  at_.global_step++;
  cx_.global_step = at_.global_step;
  if (ema_ != nullptr) ema_->take_in(at_.global_step);
  return true;
}

bool Fit::next_batch() {
  if (timer_epochs_ == 0) return feed_->next(batch_);
  const Clock::time_point asked = Clock::now();
  const bool is_there = feed_->next(batch_);
  data_s_ += seconds_since(asked);
  return is_there;
}

double Fit::nominal_weight(int64_t batch) const {
  return settings_.weigh.text == "batches" ? 1.0 : double(feed_->batch_samples(at_.epoch, batch));
}

double Fit::weight_of(const Batch& batch) const {
  if (counts_field_ >= 0) {
    const In field(batch.fields[size_t(counts_field_)]);
    if (field->defined()) return double(field->numel() - at::sum(*field == counts_ignore_).item<int64_t>());
  }
  return settings_.weigh.text == "batches" ? 1.0 : double(batch.size);
}

Leave Fit::why_leave() const {
  if (SignalWatch::received() != 0) return Leave::Now;
  if (settings_.steps >= 0 && at_.global_step >= settings_.steps) return Leave::Planned;
  if (settings_.max_time_s >= 0 && train_before_s_ + seconds_since(began_) >= settings_.max_time_s) return Leave::Planned;
  const bool may_stop = at_.epoch >= settings_.min_epochs && at_.global_step >= settings_.min_steps;
  if ((is_stopping_ || cx_.wants_stop) && may_stop) return Leave::Planned;
  return cx_.ends_epoch ? Leave::EpochOver : Leave::No;
}

void Fit::end_train_epoch(Leave leave) {
  at_.epoch++;
  at_.batch = 0;
  cx_.ends_epoch = false;
  const bool is_last = leave == Leave::Planned || (settings_.epochs >= 0 && at_.epoch >= settings_.epochs);
  if (round_is_due_by_epoch() || (is_last && at_.round_step != at_.global_step)) round();

  Named values;
  cx_.logs.end_epoch(Role::Train, values);
  cx_.run_hook(Hook::train_epoch_end);
  cx_.logs.end_epoch(Role::Train, values);  // what the hook logged
  row_.insert(row_.end(), values.begin(), values.end());
  request_.progress.epoch_end(cx_.epoch, at_.global_step, values);
  cx_.record_images();
  flush_row();
  tell_fresh(Role::Train);
  save_if_due(true);
  tell_time();
}

// ---- rounds --------------------------------------------------------------------------------------------------

void Fit::round() {
  if (val_streams_.empty() || request_.flags.bare) return;
  const Clock::time_point begin = Clock::now();
  const int64_t batches = request_.flags.fast_dev_run > 0 ? request_.flags.fast_dev_run : -1;
  request_.progress.round_begin(Role::Val, -1);
  const Ema::InPlace averaged(ema_.get());
  cx_.run_hook(Hook::val_epoch_start);
  pass(cx_, *val_step_, val_streams_, batches);
  if (SignalWatch::received() != 0) {
    // A round that was cut off leaves no trace.
    cx_.logs.drop(Role::Val);
    return;
  }
  Named values;
  cx_.logs.end_epoch(Role::Val, values);
  cx_.run_hook(Hook::val_epoch_end);
  cx_.logs.end_epoch(Role::Val, values);
  cx_.record_images();
  row_.insert(row_.end(), values.begin(), values.end());
  request_.progress.round_end(Role::Val, cx_.epoch, at_.global_step, values);
  at_.round_step = at_.global_step;
  at_.round_time_s = train_before_s_ + seconds_since(began_);
  val_s_ += seconds_since(begin);
  tell_fresh(Role::Val);
}

bool Fit::round_is_due_in_epoch(int64_t batches_of_epoch) const {
  if (val_streams_.empty()) return false;
  const Value& every = settings_.val_every;
  switch (every.kind) {
    case Value::Kind::Int:
    case Value::Kind::Steps: {
      const auto steps = std::max<int64_t>(int64_t(every.kind == Value::Kind::Int ? double(every.whole) : every.real), 1);
      return at_.global_step % steps == 0;
    }
    case Value::Kind::Seconds:
      return train_before_s_ + seconds_since(began_) - at_.round_time_s >= every.real;
    case Value::Kind::Epochs: {
      if (every.real >= 1 || at_.batch >= batches_of_epoch) return false;
      // After the window in which another part of the epoch is full.
      const double part = every.real * double(batches_of_epoch);
      const int64_t rows = windows_->rows(at_.epoch, at_.global_step - 1);
      return std::floor(double(at_.batch) / part) > std::floor(double(at_.batch - rows) / part);
    }
    default: return false;
  }
}

bool Fit::round_is_due_by_epoch() const {
  const Value& every = settings_.val_every;
  if (every.kind != Value::Kind::Epochs || at_.round_step == at_.global_step) return false;
  if (every.real < 1) return true;
  return at_.epoch % std::max<int64_t>(int64_t(every.real), 1) == 0;
}

// ---- recording -----------------------------------------------------------------------------------------------

bool Fit::is_recorded(int64_t step) const { return is_regular(step) || step == windows_->planned(); }

bool Fit::is_regular(int64_t step) const { return step == 1 || step % std::max<int64_t>(settings_.log_every, 1) == 0; }

void Fit::record_step() {
  if (request_.flags.bare) {
    cx_.grad_norms.clear();
    return;
  }
  const bool is_due = is_recorded(at_.global_step);
  // What is recorded only because the run ends here is no part of the row that a longer run would have.
  Named& row = is_regular(at_.global_step) ? row_ : last_row_;
  cx_.logs.end_window(is_due, is_recorded(at_.global_step + 1), row);
  if (is_due) {
    for (const auto& optimizer : request_.root.state().optimizers) rates(*optimizer, row);
    row.insert(row.end(), cx_.grad_norms.begin(), cx_.grad_norms.end());
    measure_throughput();
  }
  cx_.grad_norms.clear();
  if (request_.progress.wants_values()) {
    Named values;
    cx_.logs.bar_values(values);
    request_.progress.bar(values);
  }
}

void Fit::flush_row() {
  if (kept_step_ != at_.global_step) {
    kept_row_.clear();
    kept_step_ = at_.global_step;
    kept_epoch_ = cx_.epoch;
  }
  kept_row_.insert(kept_row_.end(), row_.begin(), row_.end());
  Named values = std::exchange(row_, {});
  values.insert(values.end(), last_row_.begin(), last_row_.end());
  last_row_.clear();
  if (!values.empty()) cx_.record(std::move(values));
}

}  // namespace ltr
