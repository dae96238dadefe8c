#pragma once

// torchrun's file of errors: it shows what a failed rank left there.

#include "ltr/api.h"

namespace ltr::distributed {

/// Writes `text` where `TORCHELASTIC_ERROR_FILE` says, if it is set.
void write_error_file(const Str& text);

}  // namespace ltr::distributed
