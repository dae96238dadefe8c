#pragma once

// Whether this process is one of the ranks, or starts and watches those of its machine.

#include "runtime/cli/options.h"
#include "runtime/cli/terminal.h"
#include "runtime/distributed/launch.h"

namespace ltr::cli {

struct RankPlan {
  /// Of this rank; of the first of those that it starts.
  distributed::Place place;
  Str job;  ///< of the launcher, where ranks of several machines meet by a file in `out_dir`
  Str out_dir;
  bool is_supervised = false;
  bool is_supervisor = false;
  int64_t sharing = 1;     ///< ranks that share the cores of this one
  int64_t restarts = 0;    ///< that a supervisor may make
  int64_t least = 1;       ///< ranks that are enough for one, of those that it starts
  double timeout_s = 600;  ///< how long ranks wait for each other
};

/// R2003 for settings that were piped in: other processes of the run read them again, each for itself.
void refuse_pipes(const CommandLine& line);

/// What follows from the launcher and from the settings, which it resolves: throws Faults with everything that is wrong.
RankPlan plan_ranks(const Program& program, const CommandLine& line, const Terminal& terminal,
                    const distributed::Launch& launch);

}  // namespace ltr::cli
