#pragma once

// Starts the ranks of a machine, each a copy of this program, and watches them until they are gone (runtime.md 12, 13.1).

#include <functional>
#include <vector>

#include "runtime/api/error.h"
#include "runtime/distributed/first_failure.h"
#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// The ranks of this machine.
struct Team {
  std::vector<Str> command;  ///< of this process: theirs, too
  Place first;               ///< of the first of them; the others follow it. `port` 0: any that is free
  int64_t restarts = 0;      ///< how often all of them may be started again
  int64_t least =
      1;  ///< ranks that are enough for that: each restart after one was lost is without it, as far as this goes
};

/// A run, as its first rank tells of it.
struct RunWords {
  Str folder;  ///< "" while there is none
  Str resume;  ///< the command line that goes on with it
};

/// What is said of them.
struct TeamReport {
  std::function<void(const Error& error)> failed;  ///< of a rank that could not say it itself
  /// The same, when all are gone that could write into their run. `is_mute`: nobody has
  /// said how to go on, for it was the first rank, and nobody begins again by himself.
  std::function<void(const Error& error, const RunWords& run, bool is_mute)> ended;
  std::function<void(const Str& text)> note;
};

/// Returns when none of them is left; what the program exits with. SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP go to them. Called
/// in a process without other threads. R1002 and R2008 if they cannot be started or cannot meet.
int supervise(Team team, const TeamReport& report);

/// To be called first of all: a rank that a supervisor started ends when that one does.
void end_with_supervisor();

/// What a rank that has not met the others says before it ends with an error. Gives another one that was before it.
Option<Failure> tell_failure(const Place& place, int exit_code);
/// The run that ranks started again are to go on with, "" if they begin.
Str run_to_go_on_with();
/// Whether all ranks are started again after an error of the run (exit code 1): nobody else has to go on with it then.
bool begins_again();
/// Tells the supervisor which run its ranks write, so that they, or somebody else, can go on with it.
void tell_run(const Place& place, const RunWords& run);

}  // namespace ltr::distributed
