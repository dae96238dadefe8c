#include "runtime/distributed/rank_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "runtime/api/error.h"
#include "runtime/distributed/own_process.h"

namespace ltr::distributed {

namespace {

std::vector<std::pair<Str, Str>> variables_of(const RankStart& start) {
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
  return own;
}

}  // namespace

Place as_guest(Place place, int64_t attempt) {
  place.serves = false;
  place.prefix = fmt::format("ltr/{}/", attempt);
  return place;
}

pid_t start_rank(const RankStart& start) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!start.has_input) posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Onto itself: it is not closed there.
  if (start.file >= 0) posix_spawn_file_actions_adddup2(&files, start.file, start.file);
  pid_t pid = 0;
  const int fault = start_own_process({start.command, variables_of(start), start.mask}, files, pid);
  posix_spawn_file_actions_destroy(&files);
  if (fault != 0)
    throw error_at({}, err::rank_lost, "no process could be started: " + std::generic_category().message(fault));
  return pid;
}

}  // namespace ltr::distributed
