#pragma once

#include "dsl/check/typed.h"

namespace ltr::check {

/// The checked program with what only the whole of it tells: each `mode = auto` says `min` or `max`
/// as the series that is watched wants it, each experiment knows the size of its train batches where
/// the program alone tells it, and each function whether it draws random numbers, itself or in what
/// it calls. Reports nothing; a mode that could not be told was reported by
/// `check_monitors` and stays `auto`.
Program settle(Program checked);

}  // namespace ltr::check
