#pragma once

// The call of a schedule, as schedules read it.

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/api/suggest.h"
#include "runtime/optim/schedule.h"

namespace ltr::optim {

/// Reads arguments of a schedule's call, with their defaults.
class ScheduleCall {
 public:
  ScheduleCall(const Value& call, const Length& length) : call_(call), length_(length) {}

  /// Whatever its value, `none` too.
  const Value* find_any(const char* name) const {
    if (std::find(used_.begin(), used_.end(), name) == used_.end()) used_.emplace_back(name);
    return call_.find(name);
  }
  const Value* find(const char* name) const {
    const Value* value = find_any(name);
    return value != nullptr && !value->is_none() ? value : nullptr;
  }
  double number(const char* name, double initial) const {
    const Value* value = find(name);
    return value != nullptr ? value->as_float() : initial;
  }
  Str symbol(const char* name, const char* initial) const {
    const Value* value = find(name);
    return value != nullptr ? value->as_str() : initial;
  }
  double period(const char* name, double initial) const {
    const Value* value = find(name);
    return value != nullptr ? updates_in(*value, length_, call_.text) : initial;
  }
  double needed(const char* name) const {
    const Value* value = find(name);
    if (value == nullptr) {
      throw error_at(call_.location, err::wrong_type, fmt::format("{}.{}", call_.text, name), "missing", "a value");
    }
    return updates_in(*value, length_, call_.text);
  }
  double total() const {
    const Value* value = find("total");
    if (value != nullptr) return updates_in(*value, length_, call_.text);
    if (length_.total < 0) {
      throw with_help(error_at(call_.location, err::length_unknown, call_.text), "give it `total = …`");
    }
    return double(length_.total);
  }
  /// All arguments, in their order: those without a name, too.
  const std::vector<Argument>& ordered(std::initializer_list<const char*> names) const {
    for (const char* name : names) find_any(name);
    takes_unnamed_ = true;
    return call_.items;
  }
  /// R2002 for an argument that nobody asked for: on a command line there is no compiler that refuses it.
  void check_all_used() const {
    for (const Argument& argument : call_.items) {
      const bool is_unnamed = argument.name[0] == '\0';
      if (is_unnamed ? takes_unnamed_ : std::find(used_.begin(), used_.end(), argument.name) != used_.end()) continue;
      const Str what = is_unnamed ? argument.value.to_text() + " without a name" : Str(argument.name);
      const Str near = nearest(argument.name, used_);
      throw with_help(error_at(call_.location, err::unknown_setting, fmt::format("{}.{}", call_.text, what)),
                      fmt::format("{}{} takes {}", near.empty() ? "" : fmt::format("did you mean {}? ", near),
                                  call_.text, fmt::join(used_, ", ")));
    }
  }
  const Value& value() const { return call_; }
  const Length& length() const { return length_; }

 private:
  const Value& call_;
  const Length& length_;
  mutable std::vector<Str> used_;  ///< names that were asked for
  mutable bool takes_unnamed_ = false;
};

}  // namespace ltr::optim
