#include "ltr/program.h"

// The bases of generated objects: their destructors stand here, so that each has one table of functions.

namespace ltr {

Block::~Block() = default;
Callback::~Callback() = default;
Context::~Context() = default;
Metric::~Metric() = default;
std::vector<Tensor> Metric::merge(const std::vector<Tensor>&, const std::vector<Tensor>&) { return {}; }
Settings::~Settings() = default;

}  // namespace ltr
