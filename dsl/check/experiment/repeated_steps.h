#pragma once

// Optimizers that repeat the step up to its `minimize`: LBFGS.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// Whether an optimizer, `m.opt`, is one.
bool repeats_step(const ExprView& optimizer, const Program& program);
/// E0440: a model that has one has one `minimize`, that every batch comes to.
void check_repeated_steps(Context& cx);
/// E0440: a `minimize` of a test by such an optimizer, whose step is none. Whether it is one.
bool report_repeated_test(const ExprView& optimizer, Span minimize, Context& cx);
/// E0440: what the trainer and the topology say goes with it. `window`: what makes updates of several batches.
void check_repeating_run(Context& cx, const Experiment& experiment, const SettingValue* window);

}  // namespace ltr::check
