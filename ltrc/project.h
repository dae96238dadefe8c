#pragma once

#include <string>
#include <vector>

#include "dsl/diagnostics/sink.h"
#include "dsl/source/source_manager.h"

namespace ltr::driver {

/// The folders in which the project of `file` keeps what its programs import: the `paths` of the nearest `ltr.toml`, in the
/// folder of the file or one above it. E0011 for one that says anything else.
std::vector<std::string> project_folders(const std::string& file, source::SourceManager& sources,
                                         diagnostics::Sink& sink);

}  // namespace ltr::driver
