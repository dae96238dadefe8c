#pragma once

// What a `sweep` asks for, and the values of each of its trials. These hang on the sweep's seed and the trial's number
// alone, so that a sweep that was killed goes on with the same ones.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

/// An hparam that differs between trials: a draw such as `log_uniform(low, high)`, or a list of values.
struct SweepAxis {
  Str name;
  Value values;
};

/// `prune = asha(max, min, eta)`, in epochs or in steps.
struct Pruning {
  bool in_epochs = true;
  double most = 0;
  std::vector<double> rungs;  ///< below `most`, where trials are compared
  int64_t eta = 3;
};

struct SweepPlan {
  std::vector<SweepAxis> axes;
  bool is_grid = false;
  int64_t trials = 0;
  Str target;  ///< `val/loss`
  bool is_max = false;
  Option<Pruning> pruning;
  uint64_t seed = 0;

  /// All of it that says what trials are, as one text: a sweep that goes on has the same.
  Str text() const;
  /// Whether the value `left` of the target is better than `right`.
  bool is_better(double left, double right) const { return is_max ? left > right : left < right; }
};

/// The `sweep` of the experiment that `start` has resolved, with `--over` and `--trials`. R2006 and R2003 for what
/// contradicts.
SweepPlan read_sweep(const Start& start);

/// An hparam of a trial, as one types it.
struct TrialValue {
  Str name;
  Str text;
};

/// The values of trial `number`, from 0, that keep to all rules of hparams; nothing where a grid has none there, or no
/// draw of many keeps to them.
Option<std::vector<TrialValue>> values_of(const SweepPlan& plan, int64_t number, const Start& start);

/// `lr = 0.01, width = 16`.
Str values_text(const std::vector<TrialValue>& values);

}  // namespace ltr::cli
