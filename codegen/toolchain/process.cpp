#include "codegen/toolchain/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace ltr::toolchain {

namespace {

/// Its process, none where it cannot be started.
std::optional<pid_t> start(const Command& command) {
  std::vector<char*> argv;
  for (const std::string& word : command.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int started = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) return std::nullopt;
  return child;
}

Finished finish(pid_t child, const std::filesystem::path& log) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Finished finished;
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  finished.output = text.str();
  return finished;
}

}  // namespace

std::vector<Finished> run_all(const std::vector<Command>& commands) {
  std::vector<std::optional<pid_t>> children;
  for (const Command& command : commands) children.push_back(start(command));
  std::vector<Finished> all;
  for (size_t i = 0; i < commands.size(); ++i)
    all.push_back(children[i] ? finish(*children[i], commands[i].log) : Finished());
  return all;
}

Finished run(const std::vector<std::string>& words, const std::filesystem::path& log) {
  return run_all({{words, log}}).front();
}

}  // namespace ltr::toolchain
