#pragma once

#include "dsl/check/typed.h"

namespace ltr::lower {

/// What is asked of sizes, each once: where several places ask the same of the same hparams and data, the first of them stands
/// for all. Of an experiment, what its runs are asked; of null, what any of them is.
std::vector<check::Obligation> distinct_obligations(const check::Program& program, const check::Experiment* experiment);

}  // namespace ltr::lower
