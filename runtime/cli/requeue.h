#pragma once

// A job of SLURM whose time is over before its run is.

#include "runtime/distributed/launch.h"
#include "runtime/train/progress.h"

namespace ltr::cli {

/// As `scontrol requeue` takes the job that this process is in: `17`, of an array `17_3`. Nothing outside of jobs.
Option<Str> slurm_job(const distributed::Environment& environment);

/// Whether a job that `signal` ended goes into the queue again, as the `StopOnSignal` of the run says; without one, that was switched
/// off, it does not. `scheduler_asks`: the run is for SLURM, and the topology does not say otherwise.
bool is_requeued(int signal, const std::vector<Value>& callbacks, bool scheduler_asks);

/// Puts `job` into the queue again, which ends its processes: the last act of a run. Says so, or why it could not.
void requeue(const Str& job, Progress& progress);

}  // namespace ltr::cli
