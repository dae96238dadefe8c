#include "runtime/distributed/store.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "runtime/api/error.h"

namespace ltr::distributed {

namespace {

using Connected = c10::intrusive_ptr<c10d::TCPStore>;

/// c10d tries twice, and waits without an end for the first answer of whoever listens there, who may be no store.
Connected connect(const Str& host, const c10d::TCPStoreOptions& options) {
  const auto task = std::make_shared<std::packaged_task<Connected()>>([=] { return c10::make_intrusive<c10d::TCPStore>(host, options); });
  std::future<Connected> connected = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  const auto limit = 2 * options.timeout + std::chrono::seconds(1);
  if (connected.wait_for(limit) != std::future_status::ready) throw std::runtime_error("no answer");
  return connected.get();
}

}  // namespace

void quiet_c10d() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();  // reads it, which nothing but Python does by itself
}

Store open_store(const Place& place, double timeout_s) {
  c10d::TCPStoreOptions options;
  options.port = uint16_t(place.port);
  options.isServer = place.serves;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(int64_t(timeout_s * 1000));
  const Str meeting = fmt::format("{}:{}", place.host, place.port);
  try {
    return c10::make_intrusive<c10d::PrefixStore>(place.prefix, connect(place.host, options));
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    if (place.serves && (text.find("EADDRINUSE") != Str::npos || text.find("already in use") != Str::npos)) {
      throw with_help(error_at({}, err::topology_unavailable, fmt::format("the port of the meeting point {} is taken", meeting)),
                      "another run may have it: set MASTER_PORT, or LTR_MASTER, to a free one");
    }
    if (place.serves) {
      throw with_help(error_at({}, err::topology_unavailable,
                               fmt::format("the meeting point {} cannot be opened on this machine", meeting)),
                      "MASTER_ADDR, or LTR_MASTER, must be an address of the machine of rank 0");
    }
    throw with_help(error_at({}, err::rank_lost, fmt::format("rank {} found nobody at the meeting point {} for {:.0f} s",
                                                             place.rank, meeting, timeout_s)),
                    "rank 0 opens it: see whether it runs, and whether its machine can be reached from here");
  }
}

}  // namespace ltr::distributed
