#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/step.h"
#include "codegen/toolchain/toolchain.h"
#include "dsl/check/typed.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/resolve/resolve.h"
#include "dsl/source/source_manager.h"

namespace ltr::driver {

/// What all commands that read programs take.
struct Common {
  std::string message_format = "human";  ///< human, short or json
  std::string color = "auto";            ///< auto, always or never
  size_t max_errors = diagnostics::Sink::kMaxErrors;
  std::vector<std::string> deny;  ///< "warnings", "runtime-shapes"
  bool time = false;              ///< print how long each phase took
};

/// A program as far as its phases went without errors.
struct Compilation {
  source::SourceManager sources;
  std::unique_ptr<diagnostics::Sink> sink;
  resolve::Reach reach = resolve::Reach::Mentioned;  ///< of the library
  std::optional<resolve::ModuleGraph> graph;
  std::optional<check::Program> program;
  std::optional<ir::Module> analyzed;       ///< the code of the program that `check_whole` looked at
  std::shared_ptr<const void> of_training;  ///< what it knows of it
  size_t check_errors = 0;                  ///< of names, types and sizes
  std::vector<std::pair<std::string, double>> times_ms;

  bool has_errors() const { return sink->has_errors(); }
};

/// Ids of the files of the standard library.
std::set<uint32_t> library_sources(const Compilation& compilation);
/// Source to typed program. What is wrong lies in the sink.
void analyze(const std::string& file, const Common& common, Compilation& compilation);
/// Its first half: names, types and sizes, of a text that is in no file yet, or in another state there; `path` is where it
/// belongs.
void check_text(const std::string& path, std::string text, Compilation& compilation);
/// Its second half: what only the whole code tells, and the C++ files.
void check_whole(Compilation& compilation);

/// Typed program to Step IR, through the passes. `dump_after` names a pass whose text is wanted in
/// `dump`.
ir::Module to_ir(Compilation& compilation, const std::string& dump_after, std::string* dump);
std::string to_cpp(Compilation& compilation, ir::Module& module);

/// Prints what the sink holds, to stderr; for JSON to stdout. Returns the exit code that errors and
/// denied warnings ask for.
int report(const Compilation& compilation, const Common& common);

/// The whole way to a program in the cache; reports what prevents it and gives the exit code then.
struct Compiled {
  std::filesystem::path program;
  int exit_code = 0;
};
Compiled compile(const std::string& file, const Common& common, const toolchain::CompileOptions& options,
                 Compilation& compilation);

}  // namespace ltr::driver
