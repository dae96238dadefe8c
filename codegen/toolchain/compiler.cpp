#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "codegen/toolchain/extern_file.h"
#include "codegen/toolchain/process.h"
#include "codegen/toolchain/toolchain.h"

namespace ltr::toolchain {

namespace {

Built fail(std::string message, std::string cure, bool is_internal = false) {
  Built built;
  built.failure = Failure{std::move(message), std::move(cure), is_internal};
  return built;
}

/// What the linker misses, `rope(ltr::Tensor const&)`.
std::vector<std::string> undefined_functions(const std::string& output) {
  std::vector<std::string> found;
  const std::string lead = "undefined reference to `";
  for (size_t at = output.find(lead); at != std::string::npos; at = output.find(lead, at + 1)) {
    const size_t begin = at + lead.size();
    const std::string name = output.substr(begin, output.find('\'', begin) - begin);
    // What is in a name space is ours.
    if (name.substr(0, name.find('(')).find("::") == std::string::npos) found.push_back(name);
  }
  return found;
}

}  // namespace

std::string cpp_compiler() {
  const char* given = std::getenv("CXX");
  return given != nullptr && *given != '\0' ? given : "c++";
}

std::vector<std::string> compile_command(const Installation& installation, const CompileOptions& options,
                                         const char* optimization) {
  std::vector<std::string> words = {cpp_compiler(), "-std=c++20"};
  if (options.debug) {
    words.insert(words.end(), {"-g", "-O0"});
  } else {
    words.push_back("-O" + options.optimization.value_or(optimization));
  }
  // First where `ltr/all.h` is compiled ahead: the compiler passes it over where its flags are others.
  words.push_back("-I" + (installation.library / "precompiled").string());
  words.push_back("-I" + installation.include.string());
  // A program of a sanitized runtime needs its sanitizer first of all.
  constexpr std::string_view kSanitizers = LTR_SANITIZE;
  if (!kSanitizers.empty()) words.push_back("-fsanitize=" + std::string(kSanitizers));
  return words;
}

Installation find_installation() {
  Installation installation;
  std::error_code error;
  installation.ltrc = fs::read_symlink("/proc/self/exe", error);
  const fs::path base = installation.ltrc.parent_path().parent_path();
  installation.include = base / "include";
  installation.library = base / "lib" / "ltr";
  return installation;
}

namespace {

/// Whether the compiler failed for want of space; its own words may not have been written then, and what it had begun to
/// write is gone again.
bool is_full(const fs::path& folder, const std::string& output) {
  const bool says_nothing = output.empty() || output.starts_with("collect2: error: ");
  constexpr std::uintmax_t kProgramBytes = 8 << 20;  // more than most programs have
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return output.find("No space left on device") != std::string::npos ||
         (says_nothing && !error && space.available < kProgramBytes);
}

/// How many compilers share a file of so many bytes: one for each core, as long as its own part takes longer than the headers
/// that each reads.
size_t compiler_count(size_t bytes) {
  constexpr size_t kWorthwhile = 12 << 10;
  cpu_set_t cores;
  const size_t count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return std::clamp<size_t>(bytes / kWorthwhile, 1, count);
}

/// Every so many-th part from the first one on.
unsigned mask_of(size_t first, size_t count, size_t parts) {
  unsigned mask = 0;
  for (size_t k = first; k < parts; k += count) mask |= 1U << k;
  return mask;
}

}  // namespace

Built build(const std::string& cpp, size_t parts, const std::string& key, const std::string& name,
            const Installation& installation, const CompileOptions& options, const std::vector<ExternObject>& objects) {
  std::error_code error;
  const fs::path folder = cache_folder() / "programs" / key;
  fs::create_directories(folder, error);
  if (error)
    return fail("cannot make the cache folder " + folder.string() + ": " + error.message(),
                "set LTR_CACHE_DIR to a folder that can be written");
  if (!fs::exists(installation.library / "libltr_runtime.so", error)) {
    return fail("the runtime is not there: " + (installation.library / "libltr_runtime.so").string(),
                "build it, or install Ltr anew");
  }
  const fs::path work = folder / ("." + std::to_string(getpid()));
  fs::create_directories(work, error);
  const fs::path source = work / (name + ".cpp");
  const fs::path program = work / name;
  const fs::path log = work / "log";
  {
    std::ofstream file(source, std::ios::binary);
    file << cpp;
    if (!file.flush()) return fail("cannot write " + source.string(), "is the disk full?");
  }
  const std::string compiler = cpp_compiler();
  // Generated code calls the library, where the time goes: a step of a tiny network takes as long with `-Og` as with `-O1`,
  // which compiles a quarter slower.
  const std::vector<std::string> shared = compile_command(installation, options, "g");
  std::vector<Command> compilers;
  std::vector<std::string> linked;
  const size_t count = std::min(compiler_count(cpp.size()), parts);
  for (size_t i = 0; i < count; ++i) {
    Command& one = compilers.emplace_back(Command{shared, work / ("log." + std::to_string(i))});
    linked.push_back((work / ("part." + std::to_string(i) + ".o")).string());
    // The assembler runs beside the compiler.
    one.words.insert(one.words.end(), {"-w", "-pipe", "-DLTR_PARTS=" + std::to_string(mask_of(i, count, parts)), "-c",
                                       source.string(), "-o", linked.back()});
  }
  Finished finished;
  for (Finished& one : run_all(compilers)) {
    if (finished.status <= 0) finished = std::move(one);
  }
  const std::string library = installation.library.string();
  bool has_cuda = false;
  for (const ExternObject& object : objects) {
    linked.push_back(object.file.string());
    has_cuda = has_cuda || object.is_cuda;
  }
  if (finished.status == 0) {
    std::vector<std::string> words = shared;
    words.insert(words.end(), linked.begin(), linked.end());
    // No object holds code that is still to be compiled, so nothing looks for it.
    words.insert(words.end(), {"-fno-use-linker-plugin", "-o", program.string(), "-L" + library, "-lltr_runtime",
                               "-Wl,-rpath," + library, "-Wl,-rpath,$ORIGIN/lib", "-Wl,--allow-shlib-undefined"});
    if (has_cuda) add_cuda_libraries(words);
    finished = run(words, log);
  }
  if (finished.status == -1) {
    fs::remove_all(work, error);
    return fail("there is no C++ compiler `" + compiler + "`", "install g++, or set CXX to a compiler with C++20");
  }
  const std::vector<std::string> undefined = undefined_functions(finished.output);
  if (finished.status != 0 && !objects.empty() && !undefined.empty()) {
    fs::remove_all(work, error);
    Built built = fail("no C++ file of the program defines " + undefined.front(),
                       "compare its definition with the generated header: `ltrc dump header` shows it");
    return built;
  }
  if (finished.status != 0 && is_full(folder, finished.output)) {
    fs::remove_all(work, error);
    return fail("cannot write the program into " + folder.string() + ": no space left",
                "make room, or set LTR_CACHE_DIR to another folder");
  }
  if (finished.status != 0) {
    return fail("the C++ compiler refused the generated program, kept as " + source.string() + ":\n" + finished.output,
                "this is a mistake of ltrc, not of your program; please report it with the .ltr file", true);
  }
  if (!write_sum(program)) return fail("cannot write " + program.string() + kSumSuffix, "is the disk full?");
  fs::rename(source, folder / (name + ".cpp"), error);
  fs::rename(program, folder / name, error);
  if (!error) fs::rename(program.string() + kSumSuffix, folder / (name + kSumSuffix), error);
  if (error)
    return fail("cannot put the program into " + folder.string() + ": " + error.message(), "is the disk full?");
  fs::remove_all(work, error);
  Built built;
  built.program = folder / name;
  return built;
}

}  // namespace ltr::toolchain
