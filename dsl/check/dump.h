#pragma once

#include <set>
#include <string>

#include "dsl/check/typed.h"
#include "dsl/source/source_manager.h"

namespace ltr::check {

/// The typed program as text: every declaration of the program itself, every node of its code with its type and place, its
/// operands below it; then logs, and obligations with their fates. A `$` stands before the number of a local. Of the library (`library_sources`) there is only what stands in own code. It depends on nothing but the sources.
std::string dump_typed(const Program& program, const source::SourceManager& sources,
                       const std::set<uint32_t>& library_sources);

}  // namespace ltr::check
