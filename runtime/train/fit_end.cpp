#include <cmath>

#include "runtime/tensor/device.h"
#include "runtime/train/faults.h"
#include "runtime/train/fit.h"

// The end of `fit`: what is kept of a failure, and the report.

namespace ltr {

void Fit::fail(const Error& error) {
  // Nothing can be asked of it any more, by a hook or for a checkpoint.
  if (error.code == err::device_failed.code) return;
  LateGate::Culprit culprit{at_.global_step + 1, at_.epoch, at_.batch, window_.batch()};
  bool has_culprit = window_.has_batch();
  if (const auto& late = cx_.late.culprit()) {
    // The host is ahead of it; the weights are not.
    culprit = *late;
    // All ranks learn of it at the same window, and have queued the same exchanges behind it: who left now would leave the others
    // waiting in theirs.
    accelerator()->mark()->wait();
    at_.global_step = cx_.global_step = culprit.step - 1;
    has_culprit = true;
  }
  cx_.code = error.code;
  cx_.reason = error.message;
  try {
    cx_.run_hook(Hook::failure);
  } catch (const Error& second) {
    request_.progress.warning(fmt::format("the hook failure failed itself: {}", second.message));
  }
  if (has_culprit && request_.writes() && error.exit_code() == 4) {
    const std::vector<Str> records = feed_->records(culprit.epoch, culprit.number);
    try {
      const Str file = write_fault(request_, culprit.batch, error, culprit.step, records);
      request_.progress.notice(fmt::format("the batch is in {}{}", file, records_text(records)));
    } catch (const Error& second) {
      request_.progress.warning(second.message);
    }
  }
  saver_.finish_alone();
  const Str kept = saver_.write_broken(error);
  saver_.settle();
  if (!kept.empty()) request_.progress.notice(fmt::format("the weights before it are in {}", saver_.path_of(kept)));
}

Error Fit::with_step(const Error& error) const {
  if (error.code != err::out_of_memory.code || !window_.has_batch()) return error;
  return Error(error.code,
               fmt::format("{} (step {}, batch of {})", error.message, at_.global_step + 1, window_.batch().size),
               error.location, error.help);
}

void Fit::fill(FitReport& report) {
  const int signal = cx_.agreement.signal();
  report.signal = signal;
  report.outcome = cx_.outcome.outcome;
  if (profile_) {
    report.steps_text = profile_->text() + "\n";
    if (request_.flags.trace) report.trace = profile_->trace(cx_.events(), request_.ranks.rank());
  }
  if (request_.flags.explain || request_.flags.profile || request_.flags.memory) report.steps_text += cx_.steps_text();
  report.reason = cx_.outcome.reason;
  if (signal == SIGINT) {
    report.exit_code = 130;
    report.outcome = "interrupted";
    report.reason = "stopped by the user";
  } else if (signal != 0) {
    report.exit_code = 75;
    report.outcome = "interrupted";
    report.reason = "asked to stop; start again with --resume auto";
  }
  report.steps = at_.global_step;
  report.epochs = at_.epoch;
  report.samples = at_.samples;
  report.skipped_updates = cx_.gate.skipped();
  report.left_out = cx_.left_out.count();
  report.left_out_text = cx_.left_out.summary();
  report.val_s = times_.val_s;
  report.checkpoint_s = times_.checkpoint_s;
  report.planning_s = cx_.planning_s();
  report.plan_bytes = cx_.plan_bytes();
  report.exchanged = cx_.exchange_times();
  report.data_wait_s = feed_->waited_s();
  report.train_s =
      std::max(trained_s_ - times_.before_s - times_.val_s - times_.checkpoint_s - report.data_wait_s, 0.0);
  for (const CheckpointKeeper* keeper : saver_.keepers()) {
    const CheckpointKeeper::Kept* best = keeper->best();
    if (best != nullptr)
      report.best.push_back({keeper->monitor(), best->value, best->step, saver_.path_of(best->name)});
  }
  for (const auto& [series, value] : cx_.logs.all_newest()) {
    if (!std::isnan(value)) report.last.emplace_back(series, value);
  }
  if (!saver_.last().empty()) report.last_checkpoint = saver_.path_of(saver_.last());
}

int64_t planned_steps(const RunRequest& request) {
  const std::vector<size_t> streams = streams_of(request.data, Role::Train);
  if (streams.empty()) return -1;
  const std::unique_ptr<Feed> feed = make_feed(request, streams.front());
  return Windows(request.trainer, feed->batch_size() * request.ranks.world(),
                 [&](int64_t epoch) { return feed->batches(epoch); })
      .planned();
}

}  // namespace ltr
