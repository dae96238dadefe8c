#pragma once

// Arithmetic of epochs and windows: how many rows go into one update, how many updates there are in all.

#include <functional>

#include "runtime/optim/schedule.h"
#include "runtime/train/trainer.h"

namespace ltr {

class Windows {
 public:
  /// `batches` tells the batches of an epoch, `batch_size` the nominal one of all ranks, for `global_batch` (R2013).
  Windows(const TrainerSettings& settings, int64_t batch_size, std::function<int64_t(int64_t epoch)> batches);

  /// Rows in the window that makes update `global_step`, in `epoch`; the last one of an epoch may have fewer.
  int64_t rows(int64_t epoch, int64_t global_step) const;
  /// Updates in the first `epochs` epochs, which may be a part of one.
  double updates(double epochs) const;
  /// Planned updates, -1 if only time ends training.
  int64_t planned() const { return planned_; }
  /// The same, for what would go otherwise from the first update on were there more of them; a resume for longer tells it.
  int64_t hung_on() const {
    is_hung_on_ = true;
    return planned_;
  }
  bool is_hung_on() const { return is_hung_on_; }
  bool is_constant() const { return constant_ > 0; }

 private:
  int64_t updates_of(int64_t epoch, int64_t global_step) const;
  int64_t constant_ = 0;  ///< rows if they never change, else 0
  Value accumulate_;
  std::function<int64_t(int64_t)> batches_;
  int64_t planned_ = -1;
  mutable bool is_hung_on_ = false;
};

}  // namespace ltr
