#include "ltr/program.h"

// The bases of generated objects: their destructors stand here, so that each has one table of functions.

namespace ltr {

Block::~Block() = default;
Callback::~Callback() = default;
Context::~Context() = default;
Data::~Data() = default;
Metric::~Metric() = default;
Settings::~Settings() = default;

}  // namespace ltr
