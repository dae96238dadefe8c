#pragma once

#include "dsl/check/typed.h"

namespace ltr::check {

/// The checked program with what only the whole of it tells: each experiment knows the size of its train batches where
/// the program alone tells it, and each function whether it draws random numbers, itself or in what it calls. Reports
/// nothing.
Program settle(Program checked);

}  // namespace ltr::check
