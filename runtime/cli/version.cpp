#include "runtime/cli/version.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include "runtime/cli/terminal.h"
#include "runtime/cli/verbs.h"
#include "runtime/tensor/plugin.h"

namespace ltr::cli {

Str libtorch_version() { return TORCH_VERSION; }

Str compiler_version() { return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__); }

Str cuda_version() {
  const Str file = plugin_file();
  if (file.empty()) return "none: this runtime was built for the CPU";
  const Plugin plugin = load_plugin(file);
  if (plugin.accelerator == nullptr) return "not to be loaded: " + plugin.why_not;
  std::vector<Str> built;
  for (const int one : plugin.accelerator->architectures()) built.push_back(fmt::format("sm_{}", one));
  std::vector<Str> there;
  for (int64_t i = 0; i < plugin.accelerator->count(); i++) there.push_back(plugin.accelerator->facts(i).name);
  const Str devices =
      there.empty() ? "no device: " + plugin.accelerator->why_none() : fmt::format("{}", fmt::join(there, ", "));
  std::vector<Str> libraries;
  for (const auto& [name, version] : plugin.accelerator->libraries()) {
    libraries.push_back(libraries.empty() ? version : name + " " + version);
  }
  return fmt::format("{}, for {}; {}", fmt::join(libraries, ", "), fmt::join(built, " "), devices);
}

int run_version(const Program& program, const CommandLine& line) {
  if (line.has("json")) {
    const nlohmann::ordered_json facts = {
        {"program", program.name},        {"ltr", program.compiler},         {"edition", program.edition},
        {"source", program.source_hash},  {"libtorch", libtorch_version()},  {"cuda", cuda_version()},
        {"compiler", compiler_version()}, {"cpu", at::get_cpu_capability()}, {"threads", at::get_num_threads()}};
    print_out(facts.dump() + "\n");
    return 0;
  }
  print_out(fmt::format(
      "{}: Ltr {}, edition {}\n"
      "source    {}\n"
      "LibTorch  {}\n"
      "CUDA      {}\n"
      "compiler  {}, C++{}\n"
      "CPU       {}, {} threads\n",
      program.name, program.compiler, program.edition, program.source_hash, libtorch_version(), cuda_version(),
      compiler_version(), __cplusplus / 100 % 100, at::get_cpu_capability(), at::get_num_threads()));
  return 0;
}

}  // namespace ltr::cli
