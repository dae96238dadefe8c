#pragma once

// Records that `on_bad = skip(max)` leaves out, on their way from the stage that meets them to who counts them. Workers
// read ahead, so a loader hands them over with the batch that lacks them: how many there are hangs on no timing.

#include <vector>

#include "ltr/api.h"

namespace ltr {

struct LeftOut {
  int64_t stage = 0;  ///< its number among the maps of the program, in the order in which they are made
  int64_t most = 0;   ///< so many may be left out there
  Location location;  ///< of the stage
  Str place;
  Str reason;
};

/// Notes one that this thread met.
void note_left_out(LeftOut record);
/// What this thread noted since it was asked last.
std::vector<LeftOut> take_left_out();

}  // namespace ltr
