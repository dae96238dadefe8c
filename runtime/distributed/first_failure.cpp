#include "runtime/distributed/first_failure.h"

#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "runtime/api/error.h"
#include "runtime/distributed/meeting_point.h"

namespace ltr::distributed {

namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 3s;      // of the meeting point
constexpr auto kSupervisorTime = 2s;  // a supervisor looks every second
constexpr const char* kKey = "failed";

Failure read_failure(const Str& text, const Failure& otherwise) {
  long long rank = 0;
  int code = 0;
  return std::sscanf(text.c_str(), "%lld %d", &rank, &code) == 2 ? Failure{int64_t(rank), code} : otherwise;
}

}  // namespace

Failure first_failure(const Place& place, const Failure& own, bool is_consequence) {
  try {
    Guest guest(place, kAnswerTime);
    const auto end = std::chrono::steady_clock::now() + kSupervisorTime;
    while (is_consequence && !guest.find(kKey) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(50ms);
    return read_failure(guest.set_once(kKey, fmt::format("{} {}", own.rank, own.exit_code)), own);
  } catch (const Error&) {
    return own;  // the process that kept the meeting point is gone, and with it whoever was first
  }
}

}  // namespace ltr::distributed
