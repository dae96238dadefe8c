#pragma once

// The meeting point that a supervisor keeps for its ranks, so that it outlives every one of them.

#include <memory>

#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// What `open_store` of all ranks finds, as long as it lives. Ranks of one machine meet where no other machine comes.
class MeetingPoint {
 public:
  /// At `place.host` and `place.port`, or any free port where that is 0: it is written into `place`. R2008 if it cannot be
  /// opened.
  explicit MeetingPoint(Place& place);
  ~MeetingPoint();
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace ltr::distributed
