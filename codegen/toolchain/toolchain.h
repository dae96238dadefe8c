#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ltr::toolchain {

namespace fs = std::filesystem;

/// Where the parts of Ltr are, relative to the `ltrc` that runs: the same in the build tree and
/// when installed.
struct Installation {
  fs::path ltrc;     ///< the executable itself
  fs::path include;  ///< holds ltr/program.h
  fs::path library;  ///< holds libltr_runtime.so
};
/// From the path of this executable.
Installation find_installation();

struct CompileOptions {
  bool debug = false;                       ///< -g -O0
  std::optional<std::string> optimization;  ///< `g`, or 0 to 3; what each kind of code is built with if not
};

/// Why something could not be built, for people. `is_internal`: the C++ compiler refused what we
/// generated.
struct Failure {
  std::string message;
  std::string cure;
  bool is_internal = false;
};

/// What a build gives: the program in the cache, or a failure.
struct Built {
  fs::path program;
  bool was_cached = false;
  std::optional<Failure> failure;
};

/// SHA-256 of a text, hex.
std::string digest(const std::string& text);

/// `${LTR_CACHE_DIR}`, else `${XDG_CACHE_HOME}/ltr`, else `~/.cache/ltr`.
fs::path cache_folder();

/// The key of a build: everything that its bytes depend on.
std::string build_key(const std::string& sources_hash, const Installation& installation, const CompileOptions& options);

/// Behind the name of a cached program: the file that holds its digest.
inline constexpr const char* kSumSuffix = ".sha256";
/// Writes the digest of a program beside it; false if that could not be done.
bool write_sum(const fs::path& program);
/// The cached program of that key, if there is one and its bytes are those that were built.
std::optional<fs::path> find_cached(const std::string& key, const std::string& name);

/// A C++ file of the program, compiled.
struct ExternObject {
  fs::path file;
  std::string identity;  ///< changes when its bytes do
  bool is_cuda = false;
};

/// `CXX`, else `c++`.
std::string cpp_compiler();
/// The compiler and the flags that all C++ of a program shares.
std::vector<std::string> compile_command(const Installation& installation, const CompileOptions& options,
                                         const char* optimization);

/// Compiles and links `cpp` with the user's C++ compiler (`CXX`, else `c++`) into the cache. Two
/// builds of one key at the same time give the same file: each links its own and renames it into
/// place. Several compilers may share it: functions of its `parts` stand where their bits of the macro `LTR_PARTS` are set.
Built build(const std::string& cpp, size_t parts, const std::string& key, const std::string& name,
            const Installation& installation, const CompileOptions& options,
            const std::vector<ExternObject>& objects = {});

}  // namespace ltr::toolchain
