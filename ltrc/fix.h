#pragma once

#include <string>

#include "ltrc/compile.h"

namespace ltr::driver {

/// Applies the fixes that diagnostics of `file` and of the files it imports offer, as often as new
/// ones turn up, at most five times. Prints each on stdout; the embedded library is never touched.
/// Leaves what remains to be said in `compilation`. False if a file could not be written.
bool fix_file(const std::string& file, const Common& common, Compilation& compilation);

}  // namespace ltr::driver
