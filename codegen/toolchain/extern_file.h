#pragma once

// C++ files of programs: their generated headers, what they define, and their objects. Everything
// is kept in the cache, by content.

#include "codegen/toolchain/toolchain.h"

namespace ltr::toolchain {

/// A C++ or CUDA file of a program, and the text of the header that it includes.
struct ExternSource {
  fs::path file;
  std::string header;

  bool is_cuda() const { return file.extension() == ".cu"; }
  /// `rope.ltr.h` of rope.cpp.
  std::string header_name() const { return file.stem().string() + ".ltr.h"; }
};

/// The CUDA compiler: `CUDACXX` if that is set, else nvcc in PATH or in /usr/local/cuda; nothing if
/// there is none.
std::optional<fs::path> find_nvcc();
/// Why programs cannot be linked with the toolkit of this nvcc; nothing if they can.
std::optional<std::string> broken_toolkit(const fs::path& nvcc);

/// One line of `ltr_extern_check`, as `codegen/extern_check/compare.h` lists them.
using Finding = std::vector<std::string>;

/// What the file's definitions are, compared with its header. Nothing if `ltr_extern_check` is not
/// installed.
std::optional<std::vector<Finding>> check_extern(const ExternSource& source, const Installation& installation);

/// A line of the C++ compiler.
struct CompilerMessage {
  std::string file;
  uint32_t line = 0;  ///< 0: no place
  uint32_t column = 0;
  std::string text;
};

struct CompiledExtern {
  std::optional<ExternObject> object;
  std::vector<CompilerMessage> errors;  ///< why there is no object
  std::string warnings;                 ///< what the compiler said about a file that it compiled just now
};

/// Compiles the file as the program is compiled, with -Wall, unless its object is in the cache and
/// no file that it includes has changed.
CompiledExtern compile_extern(const ExternSource& source, const Installation& installation,
                              const CompileOptions& options);

/// What linking a CUDA object takes.
void add_cuda_libraries(std::vector<std::string>& words);

}  // namespace ltr::toolchain
