#include "runtime/cli/git.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>

extern char** environ;

namespace ltr::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMaxOutput = size_t(1) << 20;

/// Standard output of `git ARGS`; nothing if it fails or `deadline` passes.
Option<Str> git(const std::vector<Str>& arguments, Clock::time_point deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> words;
  Str program = "git";
  words.push_back(program.data());
  for (const Str& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int status = ::posix_spawnp(&child, "git", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Str out;
  bool is_whole = status == 0;
  char buffer[65536];
  while (is_whole) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd watch{ends[0], POLLIN, 0};
    if (left <= 0 || ::poll(&watch, 1, int(left)) <= 0) is_whole = false;
    if (!is_whole) break;
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count <= 0) break;
    out.append(buffer, size_t(count));
    if (out.size() > kMaxOutput) is_whole = false;
  }
  ::close(ends[0]);
  if (status != 0) return std::nullopt;
  if (!is_whole) ::kill(child, SIGKILL);
  int result = 0;
  ::waitpid(child, &result, 0);
  if (!is_whole || !WIFEXITED(result) || WEXITSTATUS(result) != 0) return std::nullopt;
  return out;
}

/// `https://user:secret@host/x?token=…` without what may be secret.
Str without_secrets(Str url) {
  const size_t scheme = url.find("://");
  if (scheme == Str::npos) return url;
  const size_t host = scheme + 3;
  const size_t at_sign = url.find('@', host);
  const size_t slash = url.find('/', host);
  if (at_sign != Str::npos && (slash == Str::npos || at_sign < slash)) url.erase(host, at_sign - host + 1);
  return url.substr(0, url.find_first_of("?#"));
}

Str first_line(const Str& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

Option<GitFacts> read_git(const Str& folder) {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(2);
  const Option<Str> status =
      git({"-C", folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no"}, deadline);
  if (!status) return std::nullopt;
  GitFacts facts;
  for (size_t begin = 0; begin < status->size();) {
    const size_t end = std::min(status->find('\n', begin), status->size());
    const Str line = status->substr(begin, end - begin);
    if (line.starts_with("# branch.oid "))
      facts.commit = line.substr(13);
    else if (line.starts_with("# branch.head "))
      facts.branch = line.substr(14);
    else if (!line.starts_with("#"))
      facts.is_dirty = true;
    begin = end + 1;
  }
  if (facts.commit == "(initial)") facts.commit.clear();
  if (const Option<Str> remote = git({"-C", folder, "config", "--get", "remote.origin.url"}, deadline)) {
    facts.remote = without_secrets(first_line(*remote));
  }
  if (facts.is_dirty && !facts.commit.empty()) {
    if (const Option<Str> diff = git({"-C", folder, "diff", "HEAD"}, deadline)) facts.diff = *diff;
  }
  return facts;
}

}  // namespace ltr::cli
