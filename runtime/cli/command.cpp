#include "runtime/cli/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

extern char** environ;

namespace ltr::cli {

namespace {

constexpr size_t kMaxOutput = size_t(1) << 20;

/// Whether all that comes through `pipe` is in `out`.
bool read_all(int pipe, std::chrono::steady_clock::time_point deadline, Str& out) {
  char buffer[65536];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd watch{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&watch, 1, int(left)) <= 0) return false;
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count <= 0) return true;
    out.append(buffer, size_t(count));
    if (out.size() > kMaxOutput) return false;
  }
}

}  // namespace

CommandEnd run_command(const std::vector<Str>& words, std::chrono::milliseconds limit, bool with_errors) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (with_errors)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const Str& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const bool is_started = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  CommandEnd end;
  const bool is_whole = is_started && read_all(ends[0], deadline, end.text);
  ::close(ends[0]);
  if (!is_started) return end;
  if (!is_whole) ::kill(child, SIGKILL);
  int result = 0;
  ::waitpid(child, &result, 0);
  if (is_whole && WIFEXITED(result)) end.code = WEXITSTATUS(result);
  return end;
}

}  // namespace ltr::cli
