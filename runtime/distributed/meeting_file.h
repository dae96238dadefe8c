#pragma once

// How processes of several machines learn where they meet when no variable says it: a file in a folder that all of them
// see (doors.md 5.3).

#include <chrono>

#include "doors/made_folders.h"
#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// There is one from when the first rank has written it until all have met.
class MeetingFile {
 public:
  /// Of `job` in `folder`. The first rank writes it, with this machine's name; the others wait `patience` for it. Either
  /// fills in `place.host` and `place.port`. R2008 if it does not come, R1004 if it cannot be written.
  MeetingFile(Place& place, const Str& folder, const Str& job, std::chrono::seconds patience);
  /// The first rank removes it, and what was made for it alone.
  ~MeetingFile();
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;

 private:
  Str path_;
  bool is_ours_;
  doors::MadeFolders around_;
};

}  // namespace ltr::distributed
