#pragma once

#include "dsl/diagnostics/sink.h"
#include "dsl/source/source_manager.h"

namespace ltr::parse {

/// Takes back what was said only because a line could not be read: what else that line does, and that there are no such names
/// as it would have declared. Of a line that is wrong in several places the first is told, and a string that never ends before
/// the brackets that it hides.
void withdraw_consequences(diagnostics::Sink& sink, const source::SourceManager& sources);

}  // namespace ltr::parse
