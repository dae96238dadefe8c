#pragma once

#include <memory>

#include "codegen/ir/step.h"
#include "dsl/check/typed.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::training_logic {

/// Checks what steps and tests do with weights, on the functions of `lower::lower_for_analysis`:
/// that losses reach the weights they train, that weights have one optimizer, that no value
/// outlives an update, that activations are not doubled, that evaluation only evaluates. Sees
/// through functions, blocks, lists, branches and loops. What hangs on code with an error is left
/// alone. `fails` tests that `check` found nothing wrong with are decided here. Returns what it found out on the way, which a
/// process that soon ends need not take apart.
std::shared_ptr<const void> check_training(const ir::Module& module, const check::Program& program,
                                           diagnostics::Sink& sink);

}  // namespace ltr::training_logic
