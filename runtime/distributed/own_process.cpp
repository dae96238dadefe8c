#include "runtime/distributed/own_process.h"

#include <algorithm>

extern char** environ;

namespace ltr::distributed {

namespace {

std::vector<Str> environment_of(const std::vector<std::pair<Str, Str>>& own) {
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

int start_own_process(OwnProcess start, const posix_spawn_file_actions_t& files, pid_t& pid) {
  std::vector<Str> variables = environment_of(start.variables);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (start.mask != nullptr) {
    posix_spawnattr_setsigmask(&attributes, start.mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  // Not by its path: another build may stand there by now.
  const int fault = ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, pointers(start.command).data(),
                                  pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  return fault;
}

}  // namespace ltr::distributed
