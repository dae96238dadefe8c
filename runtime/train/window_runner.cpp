#include "runtime/train/window_runner.h"

#include "runtime/train/kept_buffers.h"

namespace ltr {

bool WindowRunner::run(int64_t rows, bool is_recorded) {
  const double total = weight_of(rows);
  cx_.begin_window(step_, is_recorded);
  for (int64_t row = 0; row < rows; row++) {
    if (!next_of(cx_, feed_, batch_)) {
      if (row == 0) return false;
      break;
    }
    run_row(total, row + 1 == rows);
    if (cx_.ends_epoch && request_.ranks.world() == 1) break;
  }
  cx_.finish_window();
  return true;
}

/// What the rows of the window that begins here weigh, of all ranks. A row that is alone weighs 1, as does a window of
/// batches that were not counted.
double WindowRunner::weight_of(int64_t rows) {
  const int64_t world = request_.ranks.world();
  if (rows * world == 1) return 0;
  double total = 0;
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t rank = 0; rank < world; rank++) {
      total += weight_.nominal(feed_.batch_samples_of(rank, at_.epoch, at_.batch + row));
    }
  }
  return total;
}

/// One batch of a window that weighs `total`; 0: it is alone.
void WindowRunner::run_row(double total, bool is_last) {
  const int64_t number = feed_.number();
  const bool counts = !batch_.is_stand_in;
  const double weight = counts ? weight_.of(batch_) : 0;
  const double nominal = weight_.counts() || !counts ? weight : weight_.nominal(feed_.batch_samples(at_.epoch, number));
  has_batch_ = true;
  // Nothing divides what manual steps sum: what their batches count is known to all before.
  if (step_.is_manual && weight_.counts()) {
    total = weight;
    request_.ranks.sum({&total, 1});
  }
  cx_.set_row(total == 0 ? 1.0 : nominal / total, is_last, weight);
  cx_.batch_index = number;
  cx_.batch_size = batch_.size;
  // Of a batch that is left out nothing stays, not in the running values of norms either.
  const Option<KeptBuffers> before =
      request_.trainer.nan == "skip" ? Option<KeptBuffers>(request_.root.state()) : std::nullopt;
  if (counts) {
    cx_.late.begin_row(batch_, at_.epoch, number);
    const Session::BatchScope batch(cx_, batch_);
    cx_.run_hook(Hook::train_batch_start);
    blaming(feed_, at_.epoch, number, [&] { cx_.run_step(step_, batch_, stream_, uint64_t(at_.batch_counter)); });
    cx_.run_hook(Hook::train_batch_end);
    at_.samples += batch_.size;
  } else {
    cx_.stand_in(step_, batch_, stream_, uint64_t(at_.batch_counter));
  }
  if (before && cx_.has_bad_loss()) before->restore();
  if (before && cx_.bad_loss_there().defined()) before->restore_where(cx_.bad_loss_there());
  has_batch_ = false;
  at_.batch = number + 1;
  at_.batch_counter++;
  request_.progress.waited(feed_.waited_s());
  request_.progress.batch(at_.batch, counts ? batch_.size : 0, at_.global_step + (is_last ? 1 : 0));
}

}  // namespace ltr
