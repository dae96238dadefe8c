#pragma once

// Learning rates over time (runtime.md 6.2): closed forms in the number of updates done before.

#include <functional>
#include <memory>
#include <span>

#include "ltr/program.h"
#include "runtime/checkpoint/archive.h"

namespace ltr::optim {

/// What a schedule must know of the run.
struct Length {
  int64_t total = -1;                              ///< planned updates, -1 if not known
  std::function<double(double epochs)> of_epochs;  ///< updates in so many epochs from the start
  std::span<const ScheduleInfo> own = {};          ///< the schedules of the program itself
  std::function<void(const Str&)> warn = {};       ///< of what is allowed and hardly meant
  bool is_even = true;                             ///< all epochs have as many updates
  std::function<void()> hangs_on_total = {};       ///< called where a rate does
};

class Plateau;
class ScheduleCall;

class Schedule {
 public:
  Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  virtual ~Schedule() = default;

  /// The learning rate at update `t`, of a group whose own rate is `base`.
  virtual double rate(int64_t t, double base) const = 0;
  /// Momentum or β1 at update `t`, if the schedule moves it.
  virtual Option<double> momentum(int64_t) const { return {}; }
  /// Adds every `plateau` in it, however deep.
  virtual void collect(std::vector<Plateau*>&) {}
};

/// The series that a `plateau` watches, and what it does with a fresh value.
class Plateau : public Schedule {
 public:
  explicit Plateau(const ScheduleCall& call);
  double rate(int64_t t, double base) const override;
  void collect(std::vector<Plateau*>& list) override { list.push_back(this); }
  const Location& location() const { return location_; }
  const Str& monitor() const { return monitor_; }
  /// The direction if `mode = auto`: known once the program's metrics are.
  void set_direction(bool is_max) { is_max_ = is_max; }
  bool wants_direction() const { return wants_direction_; }
  /// True if the rate falls now.
  bool take(double value);

  void visit(Archive& archive);

 private:
  bool is_better(double value) const;
  Str monitor_;
  bool is_max_ = false;
  bool wants_direction_ = false;
  bool is_relative_ = true;
  double factor_;
  double threshold_;
  double min_lr_;
  double eps_;
  int64_t patience_;
  int64_t cooldown_;
  Location location_;
  double scale_ = 1;
  double best_ = 0;
  bool has_best_ = false;
  int64_t bad_ = 0;
  int64_t cooling_ = 0;
};

/// The schedule that `call` names; R2009 if it needs a length that is not known, R2002 for an unknown one.
std::unique_ptr<Schedule> make_schedule(const Value& call, const Length& length);

/// Updates in a period; seconds are R2003.
double updates_in(const Value& period, const Length& length, const Str& name);

}  // namespace ltr::optim
