#pragma once

#include "dsl/check/typed.h"

namespace ltr::lower {

/// What is asked of sizes, each once: where several places ask the same of the same hparams and data, the first of them stands
/// for all.
std::vector<check::Obligation> distinct_obligations(const check::Program& program);

}  // namespace ltr::lower
