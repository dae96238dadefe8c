#pragma once

#include <string>
#include <vector>

#include "dsl/diagnostics/sink.h"
#include "dsl/source/source_manager.h"

namespace ltr::driver {

/// What the nearest `ltr.toml` says, in the folder of a file or one above it.
struct Project {
  std::vector<std::string> folders;  ///< `paths`: where its programs' imports are looked for
  std::string catalog;               ///< `data.catalog`: a JSON file of entries for `ltrc data`; "" if there is none
};

/// The project of `file`, which need not be there. E0011 for an `ltr.toml` that says anything else.
Project read_project(const std::string& file, source::SourceManager& sources, diagnostics::Sink& sink);

}  // namespace ltr::driver
