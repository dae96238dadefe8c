#include "ltrc/data/fetch.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "codegen/toolchain/toolchain.h"

extern char** environ;

namespace ltr::driver {

std::string fetch(const std::string& url, const std::filesystem::path& part, uint64_t bytes) {
  const std::filesystem::path tool = toolchain::find_installation().ltrc.parent_path() / "ltr_fetch";
  if (!std::filesystem::exists(tool)) return fmt::format("{} is not installed", tool.string());
  // It says on its standard output what went wrong.
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return std::strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe[0]);
  posix_spawn_file_actions_addclose(&actions, pipe[1]);
  const std::string size = std::to_string(bytes);
  std::array<std::string, 4> words = {tool.string(), url, part.string(), size};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, tool.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  std::string said;
  std::array<char, 512> buffer{};
  for (ssize_t count = 0; failed == 0 && (count = ::read(pipe[0], buffer.data(), buffer.size())) != 0;) {
    if (count > 0) said.append(buffer.data(), size_t(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(pipe[0]);
  if (failed != 0) return std::strerror(failed);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return said.empty() ? "interrupted" : said;
}

}  // namespace ltr::driver
