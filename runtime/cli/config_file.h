#pragma once

// `--config FILE`: settings from JSON.

#include "runtime/cli/settings.h"

namespace ltr::cli {

/// Gives the settings of `path` to `settings`: `{"trainer.epochs": 5}`, nested objects, or a run's `config.json`, of
/// which values that only followed from the program are left to it. R2014 if it is no such file.
void read_config(const Str& path, RunSettings& settings);

}  // namespace ltr::cli
