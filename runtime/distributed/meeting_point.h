#pragma once

// Where processes meet: short texts under names, kept by one of them and reached by all (c10d's TCPStore).

#include <chrono>
#include <memory>

#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// The process that keeps it. On one machine nobody else can reach it.
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

/// A process that comes there. Each thread needs its own.
class Guest {
 public:
  /// Waits `patience` for the meeting point to open.
  Guest(const Place& place, std::chrono::milliseconds patience);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // R1002 in all of them, and above: the meeting point does not answer.
  void set(const Str& key, const Str& text);
  /// Nothing if nobody has set it.
  Option<Str> find(const Str& key);
  /// Sets it unless somebody has; what it is then.
  Str set_once(const Str& key, const Str& text);
  /// Adds to a number that begins at 0; what it is then.
  int64_t add(const Str& key, int64_t more);

 private:
  struct Client;
  std::unique_ptr<Client> client_;
};

}  // namespace ltr::distributed
