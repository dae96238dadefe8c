#include "runtime/distributed/store.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "runtime/api/error.h"
#include "runtime/distributed/meeting_point.h"

namespace ltr::distributed {

void quiet_c10d() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();  // reads it, which nothing but Python does by itself
}

/// c10d tries twice, and waits without an end for the first answer of whoever listens there, who may be no store.
Store connect_store(const Str& host, const c10d::TCPStoreOptions& options) {
  const auto task = std::make_shared<std::packaged_task<Store()>>(
      [=]() -> Store { return c10::make_intrusive<c10d::TCPStore>(host, options); });
  std::future<Store> connected = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  const auto limit = 2 * options.timeout + std::chrono::seconds(1);
  if (connected.wait_for(limit) != std::future_status::ready) throw std::runtime_error("no answer");
  return connected.get();
}

Store open_store(const Place& place, double timeout_s) {
  const auto with_prefix = [&](const Store& store) {
    return c10::make_intrusive<c10d::PrefixStore>(place.prefix, store);
  };
  if (place.serves) {
    Place here = place;
    return with_prefix(MeetingPoint(here, timeout_s).store());
  }
  c10d::TCPStoreOptions options;
  options.port = uint16_t(place.port);
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(int64_t(timeout_s * 1000));
  try {
    return with_prefix(connect_store(place.host, options));
  } catch (const std::exception&) {
    throw with_help(error_at({}, err::rank_lost,
                             fmt::format("rank {} found nobody at the meeting point {} for {:.0f} s", place.rank,
                                         place.meeting(), timeout_s)),
                    "rank 0 opens it: see whether it runs, and whether its machine can be reached from here");
  }
}

}  // namespace ltr::distributed
