#pragma once

// Which of several processes this one is, and where they meet.

#include <cstdint>
#include <string>

#include "ltr/api.h"

namespace ltr::distributed {

struct Place {
  Str launcher = "none";  ///< row of the table of launchers: own, torchrun, openmpi, slurm, …
  int64_t rank = 0;
  int64_t world = 1;
  int64_t local_rank = 0;  ///< among the processes of this machine
  int64_t local_size = 1;
  int64_t node = 0;
  Str host = "127.0.0.1";  ///< of the meeting point
  int port = 0;
  double join_s = 60;   ///< how long each waits there until all have come
  bool serves = false;  ///< this process opens the meeting point; all others are its guests
  Str prefix = "ltr/";  ///< of our keys there: others may use the same store, and earlier attempts did

  /// `host:port`; `[::1]:29500`.
  Str meeting() const { return (host.find(':') == Str::npos ? host : '[' + host + ']') + ':' + std::to_string(port); }
};

}  // namespace ltr::distributed
