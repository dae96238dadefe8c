#pragma once

// The meeting point, as who opens it has it: the first rank, or a supervisor for its ranks, so that it outlives every one
// of them.

#include "runtime/distributed/store.h"

namespace ltr::distributed {

/// What `open_store` of all ranks finds, as long as it lives. Ranks of one machine meet where no other machine comes.
class MeetingPoint {
 public:
  /// At `place.host` and `place.port`, or any free port where that is 0: it is written into `place`. R2008 if it cannot be
  /// opened, or not be reached by that name within `timeout_s`, which is also how long its keys are waited for.
  explicit MeetingPoint(Place& place, double timeout_s = 10);

  /// It lives as long as anybody has it.
  const Store& store() const { return store_; }

 private:
  Store store_;
};

}  // namespace ltr::distributed
