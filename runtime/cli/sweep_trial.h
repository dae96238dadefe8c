#pragma once

// One trial of a sweep: a `fit` in a process of its own, whose events tell how far it is.

#include <sys/types.h>

#include "runtime/cli/sweep_plan.h"

namespace ltr::cli {

/// What is known of a trial, and kept of it.
struct TrialRecord {
  int64_t number = 0;
  Str state = "running";  ///< running finished pruned failed; refused: its values break a rule
  std::vector<TrialValue> values;
  Option<double> best;           ///< of the target
  std::vector<double> at_rungs;  ///< its value at each rung that it reached
  double epochs = 0;
  int64_t steps = 0;
  double seconds = 0;
  Str reason;  ///< of a failure

  /// What the target was in a round of this epoch, behind this step.
  void note_round(const SweepPlan& plan, int64_t epoch, int64_t step, double value);
};

class SweepTrial {
 public:
  /// Starts `command`, its events to this process and its errors to the file `log`. R1004 where that fails.
  SweepTrial(TrialRecord record, const std::vector<Str>& command, std::vector<std::pair<Str, Str>> variables,
             const Str& log);
  ~SweepTrial();
  SweepTrial(const SweepTrial&) = delete;
  SweepTrial& operator=(const SweepTrial&) = delete;

  int events() const { return events_; }  ///< descriptor to poll
  /// Takes the events that are there; `reached` is told each value of the target, and says whether the trial goes on.
  /// False once it has ended, and `record` says how.
  bool take(const SweepPlan& plan, const std::function<bool(TrialRecord&, double value)>& reached);
  /// Lets it save and end.
  void stop() const;

  TrialRecord record;

 private:
  void read_line(const Str& line, const SweepPlan& plan,
                 const std::function<bool(TrialRecord&, double value)>& reached);
  void end();
  pid_t process_ = -1;
  int events_ = -1;
  Str begun_;  ///< of a line
  bool is_pruned_ = false;
};

}  // namespace ltr::cli
