#pragma once

// The arguments of a call of a rule or schedule.

#include <vector>

#include "ltr/api.h"

namespace ltr::optim {

/// Arguments by name, and which of them were asked for: on a command line there is no compiler that refuses the others.
class TakenArguments {
 public:
  /// `location`: where the call stands.
  TakenArguments(const Value& call, const Location& location) : call_(call), location_(location) {}

  /// Whatever its value, `none` too; null if it is not given.
  const Value* find_any(const char* name) const;
  /// Null for `none`, too.
  const Value* find(const char* name) const;
  /// R2002 for an argument that nobody asked for. `takes_unnamed`: those without a name are read in their order.
  void check_all_used(bool takes_unnamed = false) const;
  const Value& value() const { return call_; }
  const Location& location() const { return location_; }

 private:
  const Value& call_;
  Location location_;
  mutable std::vector<Str> used_;
};

}  // namespace ltr::optim
