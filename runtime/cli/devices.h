#pragma once

// What `devices = …` of a topology means.

#include "ltr/program.h"

namespace ltr::cli {

struct Devices {
  Str kind;               ///< auto, cpu or cuda
  Option<int64_t> count;  ///< on each machine, if it is said
};

/// `auto`, `cpu`, `cpu[4]`, `cuda`, `cuda[8]`; nothing for what names no devices.
Option<Devices> read_devices(const Str& text);

/// The topologies of the program whose devices this machine has.
std::vector<Str> fitting_topologies(const Program& program);

}  // namespace ltr::cli
