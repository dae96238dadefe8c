#pragma once

// `fit --locked`: a run begins only if all is as `ltr.lock` has it (`ltrc lock`).

#include "runtime/cli/prepare.h"

namespace ltr::cli {

/// R2017 with everything that differs: the experiment, the library that computes, each file of data and weights that was
/// opened, read from its first to its last byte by the first rank. After `start.build`, on every rank.
void check_lock(const Start& start);

}  // namespace ltr::cli
