#pragma once

// Where accelerators come from: libltr_runtime_cuda, a file beside this library.

#include "ltr/api.h"
#include "runtime/tensor/accelerator.h"

namespace ltr {

/// What was found of the library: it, or why not.
struct Plugin {
  Accelerator* accelerator = nullptr;
  Str why_not;
};

/// Where a library named so stands if it stands beside the runtime.
Str file_beside_runtime(const Str& name);
/// The file of the library beside the runtime; "" if there is none: then Ltr was built without it.
Str plugin_file();
/// Loads `file`, once. LibTorch keeps its first answer to whether there is CUDA: so before the first tensor.
Plugin load_plugin(const Str& file);
/// The devices that the NVIDIA driver shows to this process, without loading anything of LibTorch; 0 without a driver.
int64_t driver_devices();

}  // namespace ltr
