#include <fmt/core.h>

#include "dsl/parse/parse.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

int run_info() {
  const toolchain::Installation installation = toolchain::find_installation();
  const char* compiler = std::getenv("CXX");
  fmt::print("ltrc      {} (edition {})\n", LTR_VERSION, parse::kEdition);
  fmt::print("program   {}\n", installation.ltrc.string());
  fmt::print("headers   {}\n", installation.include.string());
  fmt::print("runtime   {}\n", (installation.library / "libltr_runtime.so").string());
  fmt::print("cache     {}\n", toolchain::cache_folder().string());
  fmt::print("compiler  {}\n", compiler != nullptr ? compiler : "c++");
  fmt::print("LibTorch  {}\n", LTR_LIBTORCH_VERSION);
  return kOk;
}

}  // namespace ltr::driver
