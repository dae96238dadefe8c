#pragma once

// `Checkpoint` of runtime.md 3.3: when to save, under which name, and what to let go of. It decides; the trainer writes.

#include <cmath>
#include <functional>
#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/train/epoch_parts.h"

namespace ltr {

class CheckpointKeeper {
 public:
  struct Kept {
    Str name;
    double value = 0;
    int64_t step = 0;
  };

  /// `is_max` is what `mode = auto` means for the monitored series.
  CheckpointKeeper(const Value& call, bool is_max, EpochParts::Updates updates = {});

  const Str& monitor() const { return monitor_; }
  bool saves_on_failure() const { return on_failure_; }
  bool saves_last() const { return save_last_; }
  bool weights_only() const { return weights_only_; }
  /// Whether what is due is for nothing but a run that goes on from there: another one does as well. One that comes among the best,
  /// or that `every` asks for, is for more.
  bool may_leave_out() const;
  /// It was due, and is left out.
  void left_out() { has_fresh_ = false; }
  /// Whether training goes on while one is written.
  bool is_async() const { return async_; }

  /// A fresh value of the monitored series came, or (without monitor) an epoch ended.
  void note_fresh(double value) {
    has_fresh_ = true;
    fresh_ = value;
  }
  /// Whether to save now. `epochs` and `steps` are completed ones, `time_s` is training time.
  bool is_due(int64_t steps, int64_t epochs, double time_s, bool epoch_ended);
  /// The folder's name. `newest` gives values of series.
  Str name(int64_t step, int64_t epoch, const std::function<double(const Str&)>& newest) const;
  /// `name`, or with `-v1`, `-v2` and so on behind it where a checkpoint of another step that stays beside this one has it, here or
  /// among what `others` keep.
  Str own_name(const Str& name, int64_t step, const std::vector<CheckpointKeeper*>& others) const;
  /// It was due and could not be written: what is kept is what `before` kept, and the next value tries again.
  void missed(const CheckpointKeeper& before) {
    kept_ = before.kept_;
    newest_ = before.newest_;
    waits_ = waits_ || !monitor_.empty();
  }
  /// Saved under `name`.
  void saved(const Str& name, int64_t step);
  /// Likewise, but as the newest one only: what a signal leaves takes no place from those that were due.
  void saved_aside(const Str& name) { newest_ = name; }
  /// The best one, null without monitor, before the first and where none was a number.
  const Kept* best() const;

  /// Whether what is monitored has a new value that is no number.
  bool is_nan() const { return has_fresh_ && std::isnan(fresh_); }
  /// Whether `name` is among the kept, or the newest.
  bool keeps(const Str& name) const;

  void visit(Archive& archive);

 private:
  bool ranks_before(const Kept& a, const Kept& b) const;
  Str monitor_;
  bool is_max_;
  int64_t keep_;
  Value every_;
  bool save_last_;
  bool weights_only_;
  bool on_failure_;
  bool async_;
  Str filename_;
  Option<EpochParts> parts_;
  bool has_fresh_ = false;
  bool waits_ = false;  ///< `every` has passed, the next fresh value counts
  double fresh_ = 0;
  int64_t last_mark_ = 0;  ///< step or epoch of the last save by `every`; with `parts_` how many are over
  double last_time_s_ = 0;
  std::vector<Kept> kept_;  ///< best first with monitor, else newest first
  Str newest_;
};

}  // namespace ltr
