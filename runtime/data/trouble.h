#pragma once

// What workers meet that people should know and that stops nothing, on its way to who tells them.

#include <vector>

#include "ltr/api.h"

namespace ltr {

/// Notes it; any thread.
void note_trouble(Str text);
/// What was noted since it was asked last. Costs a read of a flag where nothing was.
std::vector<Str> take_troubles();

}  // namespace ltr
