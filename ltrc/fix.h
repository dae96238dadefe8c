#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ltrc/compile.h"

namespace ltr::driver {

/// Applies the fixes that diagnostics of `file` and of the files it imports offer, as often as new
/// ones turn up, at most five times. Prints each on stdout; the embedded library is never touched.
/// Leaves what remains to be said in `compilation`. False if a file could not be written.
bool fix_file(const std::string& file, const Common& common, Compilation& compilation);

/// `text` with the fixes made, which do not overlap.
std::string apply_fixes(std::string_view text, std::vector<diagnostics::Fix> fixes);
/// One line on stdout for each fix of `diagnostic`.
void print_fixes(const diagnostics::Diagnostic& diagnostic, const source::SourceManager& sources);

}  // namespace ltr::driver
