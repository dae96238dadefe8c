#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "dsl/diagnostics/sink.h"
#include "dsl/source/source_manager.h"

namespace ltr::diagnostics {

/// Reads a file into `sources`. What prevents it is reported as E0003 to E0007, at `cause` (the import that
/// wants the file) if there is one. `shown` is the path in messages, by default `file` as given.
std::optional<source::SourceId> load_source(const std::filesystem::path& file, source::SourceManager& sources,
                                            Sink& sink, Span cause = {}, std::optional<std::string> shown = {});

}  // namespace ltr::diagnostics
