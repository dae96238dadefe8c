#pragma once

// What must be the same on all ranks before they begin.

#include "runtime/train/trainer.h"

namespace ltr {

/// R1002 unless all ranks run the same program with the same settings and data: it names the rank and what differs.
void check_alike(const RunRequest& request);

/// The first rank's weights and buffers, on all of them.
void share_weights(const RunRequest& request);

}  // namespace ltr
