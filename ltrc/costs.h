#pragma once

#include "codegen/ir/tables.h"
#include "dsl/check/typed.h"

namespace ltr::driver {

/// Gives each experiment of `tables` what its layers cost, as the program has its settings, and the hparams that this hangs on. `file` is the
/// program's; texts beside it are looked into.
void add_costs(const check::Program& program, const std::string& file, ir::Tables& tables);

}  // namespace ltr::driver
