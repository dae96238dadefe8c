#pragma once

#include <string>

#include "dsl/diagnostics/diagnostic.h"
#include "dsl/source/source_manager.h"

namespace ltr::diagnostics {

struct HumanOptions {
  bool color = false;  ///< ANSI escapes
};

/// For people: header, place, the lines concerned with their labels, notes, help. Ends in a newline.
std::string render_human(const Diagnostic& diagnostic, const source::SourceManager& sources, HumanOptions options = {});
/// `train.ltr:31:24: error[E0304]: cannot add …` and a newline.
std::string render_short(const Diagnostic& diagnostic, const source::SourceManager& sources);
/// One JSON object and a newline: `code severity message file line column end_line end_column labels[] notes[]
/// help fix[]`. Lines and columns count from 1, offsets of a fix are bytes; `file` and `help` may be null.
std::string render_json(const Diagnostic& diagnostic, const source::SourceManager& sources);

}  // namespace ltr::diagnostics
