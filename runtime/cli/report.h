#pragma once

// The start block, the end report and the page of `describe` (runtime.md 11).

#include "runtime/cli/prepare.h"
#include "runtime/train/division.h"

namespace ltr::cli {

/// `mnist · runs/mnist/0007-baseline · seed 42 · cpu, f32 · LibTorch 2.11 · planned`; what has no plan, as far as it is known before
/// a step runs, in a line of its own.
Str headline(const Start& start, const Str& run, const RunRequest& request);
/// `train 3,600 samples, 56 batches · val 400, 7 · 5 epochs = 280 steps · 1 shape to be checked on the first batch`
Str plan_line(const Start& start, int64_t planned_steps);
/// Bytes of weights, gradients and states that this rank has.
Division::Held held_of(const ModelRoot& root);
/// The end of a `fit`.
Str end_report(const Start& start, const FitReport& report, const Str& run);
/// What holds memory at the end of a `fit`, and the most that there was, for `--profile=memory`.
Str memory_table(const Start& start);
/// R1001 with who holds how much, and cures in the order in which to try them. Other errors as they are.
Error with_memory(Error error, const Start& start);
/// What to type to go on with `run` as it was: with the flags of this start.
Str resume_command(const Start& start, const Str& run);
/// Tells people on whose run an error ended how to go on with it, or that it has no checkpoint to go on from.
void tell_how_to_go_on(const Terminal& terminal, const Str& run, const Str& resume_command);
/// The command that tests the best weights of a run.
Str test_command(const Start& start, const Str& run);
/// `path` as seen from the folder `run`.
Str inside(const Str& run, const Str& path);
/// Optimizers with their groups and schedules.
Str optimizer_table(const Start& start);

}  // namespace ltr::cli
