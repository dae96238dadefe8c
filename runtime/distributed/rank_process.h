#pragma once

// A process of this program as one rank of several.

#include <sys/types.h>

#include <csignal>
#include <utility>
#include <vector>

#include "runtime/distributed/place.h"

namespace ltr::distributed {

/// The meeting point of one attempt, as those see it who do not keep it.
Place as_guest(Place place, int64_t attempt);

/// How a rank is started.
struct RankStart {
  std::vector<Str> command;  ///< its words
  Place place;               ///< where it stands, and meets the others
  int64_t attempt = 0;
  std::vector<std::pair<Str, Str>> variables = {};  ///< beside those of its place, in front of those of this process
  bool has_input = false;                           ///< what is typed or piped in is its
  int file = -1;                                    ///< open in it under the same number, -1: none
  const sigset_t* mask = nullptr;                   ///< of blocked signals; null: as here
};

/// Starts it; it ends when this process does. R1002 if it cannot be started.
pid_t start_rank(const RankStart& start);

}  // namespace ltr::distributed
