#pragma once

// This program once more, as a process of its own: a rank, a trial of a sweep.

#include <spawn.h>
#include <sys/types.h>
#include <csignal>

#include <utility>
#include <vector>

#include "ltr/api.h"

namespace ltr::distributed {

struct OwnProcess {
  std::vector<Str> command;
  std::vector<std::pair<Str, Str>> variables;  ///< in front of those of this process of the same names
  const sigset_t* mask = nullptr;              ///< signals that are held back in it; null: as here
};

/// Starts it with the files that `files` opens and closes; the error number, or 0 and its id in `pid`.
int start_own_process(OwnProcess start, const posix_spawn_file_actions_t& files, pid_t& pid);

}  // namespace ltr::distributed
