#pragma once

// What a callback monitors.

#include "runtime/train/log_table.h"

namespace ltr {

/// R2002 unless `series` can come; names those that can. `who` asks for it by its argument `what`.
void check_series(LogTable& logs, const Str& series, const Str& who, const Location& location,
                  const char* what = "monitor");
/// Whether larger is better: as `mode` says, and for `auto` what is logged. R2006 if that says nothing.
bool is_max(const LogTable& logs, const Str& series, const Str& mode, const Location& location);
/// Whether `series` has a fresh value when an epoch of `role` is over.
bool is_of(const Str& series, Role role);

}  // namespace ltr
