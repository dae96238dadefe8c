#pragma once

// What ranks run on, as a topology or `--devices` names it.

#include "ltr/api.h"

namespace ltr {

struct Devices {
  Str kind = "auto";  ///< or a row of devices.def
  int64_t count = 0;  ///< on each machine; 0: not said
};

/// `auto`, `cpu`, `cuda[8]`; nothing for what names no devices.
Option<Devices> read_devices(const Str& text);

}  // namespace ltr
