#pragma once

#include <string>

#include "dsl/check/typed.h"
#include "dsl/source/source_manager.h"

namespace ltr::check {

/// The typed program as text: declarations of the program itself with the types that were found,
/// obligations with their fates. Stable: it depends on nothing but the sources.
std::string dump_typed(const Program& program, const source::SourceManager& sources);

}  // namespace ltr::check
