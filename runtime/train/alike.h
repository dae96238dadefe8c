#pragma once

// What ranks do before they begin: see that they are to do the same, and share what they begin with.

#include "runtime/train/trainer.h"

namespace ltr {

/// R1002 unless all ranks run the same program with the same settings and data: it names the rank and what differs.
void check_alike(const RunRequest& request);

/// The first rank's weights and buffers, on all of them.
void share_weights(const RunRequest& request);

/// From here on each rank has its part of what the request says that they divide.
void divide_among_ranks(const RunRequest& request);

}  // namespace ltr
