#include "runtime/distributed/store.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/api/error.h"

namespace ltr::distributed {

Store open_store(const Place& place, double timeout_s) {
  c10d::TCPStoreOptions options;
  options.port = uint16_t(place.port);
  options.isServer = place.serves;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(int64_t(timeout_s * 1000));
  const Str meeting = fmt::format("{}:{}", place.host, place.port);
  try {
    return c10::make_intrusive<c10d::PrefixStore>(place.prefix, c10::make_intrusive<c10d::TCPStore>(place.host, options));
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
