#pragma once

// `config --schema`: what `--config` takes, as JSON Schema.

#include "runtime/cli/settings.h"

namespace ltr::cli {

/// The JSON Schema (2020-12) of a config file of `experiment`: each setting that is resolved by its name, those of `trainer`, `model` and
/// other sections as their properties, with types, ranges, what holds now as its default, and documentation.
Str settings_schema(const RunSettings& settings, const Str& experiment);

}  // namespace ltr::cli
