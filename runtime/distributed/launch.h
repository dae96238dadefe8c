#pragma once

// Who started this process, and which of how many it is (doors.md 5.1).

#include <functional>

#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// What a launcher tells a process.
struct Environment {
  std::function<Option<Str>(const Str& name)> variable;
  std::function<Option<Str>(const Str& path)> file;  ///< its text
  int64_t parent = 0;                                ///< the process that started this one
};
Environment process_environment();

struct Launch {
  /// Of this process, or, where it is to make the ranks of its machine itself, `node` and the meeting point alone. No host:
  /// several machines, and no variable says where they meet.
  Place place;
  int64_t nodes = 1;           ///< machines that are to make their ranks themselves
  bool has_ranks = true;       ///< the launcher made one process for each rank
  bool is_supervised = false;  ///< this one is a rank that a process of ours started and watches
  int64_t local_size = 0;      ///< how many ranks this machine shall have, if the launcher says so
  Str job;                     ///< a name that no other job has at this time
};

/// The first row of the table that fits, or the one called `forced`. R2008 for variables that are half set or contradict
/// each other, R2003 for a launcher that is none.
Launch find_launch(const Environment& environment, const Str& forced = "");

/// `torchrun: 8 ranks on 2 nodes, meeting n0:29500`.
Str describe_launch(const Place& place);

}  // namespace ltr::distributed
