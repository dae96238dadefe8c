#include "runtime/distributed/rank_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "runtime/api/error.h"

extern char** environ;

namespace ltr::distributed {

namespace {

/// Its variables, in front of those of this process.
std::vector<Str> environment_of(const RankStart& start) {
  const Place& place = start.place;
  std::vector<std::pair<Str, Str>> own = {{"LTR_RANK", std::to_string(place.rank)},
                                          {"LTR_WORLD", std::to_string(place.world)},
                                          {"LTR_LOCAL_RANK", std::to_string(place.local_rank)},
                                          {"LTR_LOCAL_SIZE", std::to_string(place.local_size)},
                                          {"LTR_NODE_RANK", std::to_string(place.node)},
                                          {"LTR_MASTER", fmt::format("{}:{}", place.host, place.port)},
                                          {"LTR_ATTEMPT", std::to_string(start.attempt)},
                                          {"LTR_SUPERVISOR", std::to_string(::getpid())}};
  own.insert(own.end(), start.variables.begin(), start.variables.end());
  std::vector<Str> all;
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  for (char** at = environ; *at != nullptr; ++at) {
    const Str entry = *at;
    const Str name = entry.substr(0, entry.find('='));
    if (std::none_of(own.begin(), own.end(), [&](const auto& one) { return one.first == name; })) all.push_back(entry);
  }
  return all;
}

std::vector<char*> pointers(std::vector<Str>& texts) {
  std::vector<char*> all;
  for (Str& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Place as_guest(Place place, int64_t attempt) {
  place.serves = false;
  place.prefix = fmt::format("ltr/{}/", attempt);
  return place;
}

pid_t start_rank(const RankStart& start) {
  std::vector<Str> command = start.command;
  std::vector<Str> variables = environment_of(start);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (start.mask != nullptr) {
    posix_spawnattr_setsigmask(&attributes, start.mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!start.has_input) posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Onto itself: it is not closed there.
  if (start.file >= 0) posix_spawn_file_actions_adddup2(&files, start.file, start.file);
  pid_t pid = 0;
  // Not by its path: another build may stand there by now.
  const int fault = ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, pointers(command).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (fault != 0) throw error_at({}, err::rank_lost, "no process could be started: " + std::generic_category().message(fault));
  return pid;
}

}  // namespace ltr::distributed
