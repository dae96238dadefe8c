#include <fmt/core.h>

#include <filesystem>

#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

int run_build(const BuildOptions& options, const Common& common) {
  namespace fs = std::filesystem;
  Compilation compilation;
  const Compiled compiled = compile(options.file, common, options.compile, compilation);
  if (common.time) {
    for (const auto& [phase, wall_ms] : compilation.times_ms) fmt::print(stderr, "{:<8} {:8.2f} ms\n", phase, wall_ms);
  }
  if (compiled.exit_code != kOk) return compiled.exit_code;
  const fs::path output = options.output.empty() ? fs::path(compilation.program->name) : fs::path(options.output);
  std::error_code error;
  if (fs::is_directory(output, error)) {
    fmt::print(stderr, "error: {} is a folder\n  = help: `-o FILE` names the program\n", output.string());
    return kUsage;
  }
  // Beside its place first, then renamed: a program that runs just now keeps its own file.
  const fs::path temporary = output.string() + ".tmp";
  fs::copy_file(compiled.program, temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, output, error);
  if (error) {
    fmt::print(stderr, "error: cannot write {}: {}\n", output.string(), error.message());
    return kErrors;
  }
  return kOk;
}

}  // namespace ltr::driver
