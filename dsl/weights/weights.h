#pragma once

#include "dsl/check/typed.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/resolve/resolve.h"
#include "dsl/source/source_manager.h"
#include "dsl/weights/files.h"

namespace ltr::weights {

/// Compares the weights that members load, `from "weights.safetensors"`, with the files that are there: names, types and
/// shapes as far as the program tells them. The program may have errors. What comes back has an obligation for each size
/// that hangs on what is known when a run starts; the rest is reported, as E08.
check::Program check_weights(check::Program checked, const resolve::ModuleGraph& graph,
                             const source::SourceManager& sources, diagnostics::Sink& sink, const Files& files);

}  // namespace ltr::weights
