#pragma once

// `--config FILE`: settings from JSON.

#include "runtime/cli/settings.h"

namespace ltr::cli {

/// The text of `path`, which may be a pipe: it is read once. R2014 if it cannot be.
Str read_config(const Str& path);

/// Gives the settings of `text`, of the file `path`, to `settings`: `{"trainer.epochs": 5}`, nested objects, or a run's
/// `config.json`, of which values that only followed from the program are left to it. R2014 if it is nothing of that.
void give_config(const Str& text, const Str& path, RunSettings& settings);

}  // namespace ltr::cli
