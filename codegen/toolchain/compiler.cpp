#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/toolchain/toolchain.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace ltr::toolchain {

namespace {

struct Finished {
  int status = -1;  ///< -1: could not be started
  std::string output;
};

/// Runs a program to its end, its output (both streams) going to `log`.
Finished run(const std::vector<std::string>& words, const fs::path& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  Finished finished;
  const int started = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) return finished;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  finished.output = text.str();
  return finished;
}

Built fail(std::string message, std::string cure, bool is_internal = false) {
  Built built;
  built.failure = Failure{std::move(message), std::move(cure), is_internal};
  return built;
}

}  // namespace

Installation find_installation() {
  Installation installation;
  std::error_code error;
  installation.ltrc = fs::read_symlink("/proc/self/exe", error);
  const fs::path base = installation.ltrc.parent_path().parent_path();
  installation.include = base / "include";
  installation.library = base / "lib" / "ltr";
  return installation;
}

Built build(const std::string& cpp,
            const std::string& key,
            const std::string& name,
            const Installation& installation,
            const CompileOptions& options) {
  std::error_code error;
  const fs::path folder = cache_folder() / "programs" / key;
  fs::create_directories(folder, error);
  if (error)
    return fail("cannot make the cache folder " + folder.string() + ": " + error.message(),
                "set LTR_CACHE_DIR to a folder that can be written");
  if (!fs::exists(installation.library / "libltr_runtime.so", error)) {
    return fail(
        "the runtime is not there: " + (installation.library / "libltr_runtime.so").string(),
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
  const char* given = std::getenv("CXX");
  const std::string compiler = given != nullptr && *given != '\0' ? given : "c++";
  std::vector<std::string> words = {compiler, "-std=c++20", "-w"};
  if (options.debug) {
    words.insert(words.end(), {"-g", "-O0"});
  } else {
    words.push_back("-O" + std::to_string(options.optimization));
  }
  const std::string library = installation.library.string();
  words.insert(words.end(),
               {"-I" + installation.include.string(), source.string(), "-o", program.string(),
                "-L" + library, "-lltr_runtime", "-Wl,-rpath," + library, "-Wl,-rpath,$ORIGIN/lib",
                "-Wl,--allow-shlib-undefined"});
  const Finished finished = run(words, log);
  if (finished.status == -1) {
    fs::remove_all(work, error);
    return fail("there is no C++ compiler `" + compiler + "`",
                "install g++, or set CXX to a compiler with C++20");
  }
  if (finished.status != 0) {
    return fail(
        "the C++ compiler refused the generated program, kept as " + source.string() + ":\n" +
            finished.output,
        "this is a mistake of ltrc, not of your program; please report it with the .ltr file",
        true);
  }
  fs::rename(source, folder / (name + ".cpp"), error);
  fs::rename(program, folder / name, error);
  if (error)
    return fail("cannot put the program into " + folder.string() + ": " + error.message(),
                "is the disk full?");
  fs::remove_all(work, error);
  Built built;
  built.program = folder / name;
  return built;
}

}  // namespace ltr::toolchain
