#pragma once

// The call of a schedule, as schedules read it.

#include "runtime/api/error.h"
#include "runtime/optim/schedule.h"
#include "runtime/optim/taken_arguments.h"

namespace ltr::optim {

/// Reads arguments of a schedule's call, with their defaults.
class ScheduleCall : public TakenArguments {
 public:
  ScheduleCall(const Value& call, const Length& length) : TakenArguments(call, call.location), length_(length) {}

  double number(const char* name, double initial) const {
    const Value* given = find(name);
    return given != nullptr ? given->as_float() : initial;
  }
  Str symbol(const char* name, const char* initial) const {
    const Value* given = find(name);
    return given != nullptr ? given->as_str() : initial;
  }
  double period(const char* name, double initial) const {
    const Value* given = find(name);
    return given != nullptr ? updates_in(*given, length_, value().text) : initial;
  }
  double needed(const char* name) const {
    const Value* given = find(name);
    if (given == nullptr) {
      throw error_at(location(), err::wrong_type, fmt::format("{}.{}", value().text, name), "missing", "a value");
    }
    return updates_in(*given, length_, value().text);
  }
  /// A length that does not begin where training does. R2006 of one in epochs, if those have not as many updates everywhere.
  double anywhere(const char* name) const {
    const Value* given = find(name);
    if (given != nullptr && given->kind == Value::Kind::Epochs) need_even(given->to_text());
    return needed(name);
  }
  void need_even(const Str& period) const {
    if (length_.is_even) return;
    throw with_help(error_at(location(), err::settings_contradict,
                             fmt::format("{} counts {}, and `accumulate` gives epochs different numbers of updates",
                                         value().text, period)),
                    "say it in steps, or list the epochs: `multistep([2 epochs, 4 epochs])`");
  }
  double total() const {
    const Value* given = find("total");
    if (given != nullptr) return updates_in(*given, length_, value().text);
    if (length_.total < 0) {
      throw with_help(error_at(location(), err::length_unknown, value().text), "give it `total = …`");
    }
    if (length_.hangs_on_total) length_.hangs_on_total();
    return double(length_.total);
  }
  /// All arguments, in their order: those without a name, too.
  const std::vector<Argument>& ordered(std::initializer_list<const char*> names) const {
    for (const char* name : names) find_any(name);
    takes_unnamed_ = true;
    return value().items;
  }
  void check_all_used() const { TakenArguments::check_all_used(takes_unnamed_); }
  const Length& length() const { return length_; }

 private:
  const Length& length_;
  mutable bool takes_unnamed_ = false;
};

}  // namespace ltr::optim
