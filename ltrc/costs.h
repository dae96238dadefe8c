#pragma once

#include <memory>

#include "codegen/ir/tables.h"
#include "dsl/check/typed.h"

namespace ltr::driver {

/// `tables` with what the layers of each experiment cost, as the program has its settings, and the hparams that this hangs on.
/// `file` is the program's; texts beside it are looked into.
std::shared_ptr<const ir::Tables> with_costs(ir::Tables tables, const check::Program& program, const std::string& file);

}  // namespace ltr::driver
