#pragma once

// What a fault leaves for whoever looks for its cause: `faults/` of the run folder.

#include "runtime/api/error.h"
#include "runtime/train/trainer.h"

namespace ltr {

/// Writes the batch and the names of its records to `RUN/faults/stepNNNNNNN.safetensors` and `.json`; gives the path of
/// the former. R1004 if the disk fails.
Str write_fault(const RunRequest& request, const Batch& batch, const Error& error, int64_t step,
                const std::vector<Str>& records);
/// " (records a.csv:3, a.csv:9 and 14 more)", "" if they have no names.
Str records_text(const std::vector<Str>& records);

}  // namespace ltr
