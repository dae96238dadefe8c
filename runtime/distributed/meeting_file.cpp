#include "runtime/distributed/meeting_file.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

#include "doors/file.h"
#include "runtime/api/error.h"
#include "runtime/distributed/whole.h"

namespace ltr::distributed {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr uint64_t kMostBytes = 4096;
// One that is older was left by a job of the same name that was killed. Clocks differ, and so do starts.
constexpr auto kOldest = 120s;

Str host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// Without what does not belong into the name of a file.
Str file_name(Str job) {
  std::replace_if(
      job.begin(), job.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return job;
}

/// `host port`, if it is there and of this job.
bool read_meeting(const Str& path, Place& place) {
  std::error_code failed;
  const fs::file_time_type written = fs::last_write_time(path, failed);
  if (failed || fs::file_time_type::clock::now() - written > kOldest) return false;
  try {
    const Str text = doors::read_plain_file(path, kMostBytes);
    const size_t blank = text.find(' ');
    const Option<int64_t> port = blank == Str::npos ? std::nullopt : whole_number(text.substr(blank + 1));
    if (!port) return false;
    place.host = text.substr(0, blank);
    place.port = int(*port);
    return true;
  } catch (const std::system_error&) {
    return false;  // on its way over the network
  }
}

}  // namespace

MeetingFile::MeetingFile(Place& place, const Str& folder, const Str& job, std::chrono::seconds patience)
    : path_(folder + "/.meet-" + file_name(job)), is_ours_(place.rank == 0) {
  if (is_ours_) {
    place.host = host_name();
    try {
      around_.make(folder);
      doors::write_file_atomically(path_, fmt::format("{} {}", place.host, place.port));
    } catch (const std::system_error& error) {
      throw error_at({}, err::cannot_write, path_, error.code().message());
    }
    return;
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!read_meeting(path_, place)) {
    if (std::chrono::steady_clock::now() > end) {
      throw with_help(
          error_at({}, err::topology_unavailable,
                   fmt::format("the launcher {} does not say where the ranks meet, and rank 0 has not left {}",
                               place.launcher, path_)),
          "say it: `mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 …`, or let all machines share --out");
    }
    std::this_thread::sleep_for(100ms);
  }
}

MeetingFile::~MeetingFile() {
  std::error_code ignored;
  if (!is_ours_) return;
  fs::remove(path_, ignored);
  around_.take_back();
}

}  // namespace ltr::distributed
