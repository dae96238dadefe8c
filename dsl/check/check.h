#pragma once

#include "dsl/check/typed.h"
#include "dsl/resolve/resolve.h"

namespace ltr::check {

/// Types, shapes, data streams and training logic of a program whose names are resolved. Everything
/// that module 0 declares is checked, of other modules what it uses. Afterwards every expression
/// has a type (`error` where a mistake was reported) and every shape obligation is proven, put off
/// to run time, or reported.
Program check(const resolve::ModuleGraph& graph,
              const source::SourceManager& sources,
              diagnostics::Sink& sink);

}  // namespace ltr::check
