#include "runtime/cli/version.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include "runtime/cli/terminal.h"
#include "runtime/cli/verbs.h"

namespace ltr::cli {

Str libtorch_version() {
  return TORCH_VERSION;
}

Str compiler_version() {
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
}

int run_version(const Program& program, const CommandLine&) {
  print_out(fmt::format(
      "{}: Ltr {}, edition {}\n"
      "source    {}\n"
      "LibTorch  {}\n"
      "CUDA      none: this is the CPU runtime\n"
      "compiler  {}, C++{}\n"
      "CPU       {}, {} threads\n",
      program.name, program.compiler, program.edition, program.source_hash, libtorch_version(), compiler_version(),
      __cplusplus / 100 % 100, at::get_cpu_capability(), at::get_num_threads()));
  return 0;
}

}  // namespace ltr::cli
