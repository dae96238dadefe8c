#include "runtime/cli/git.h"

#include <chrono>
#include <utility>

#include "runtime/cli/command.h"

namespace ltr::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Standard output of `git ARGS`; nothing if it fails or `deadline` passes.
Option<Str> git(std::vector<Str> arguments, Clock::time_point deadline) {
  arguments.insert(arguments.begin(), "git");
  CommandEnd end =
      run_command(arguments, std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()));
  return end.code == 0 ? Option<Str>(std::move(end.text)) : std::nullopt;
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

Str first_line(const Str& text) { return text.substr(0, text.find('\n')); }

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
