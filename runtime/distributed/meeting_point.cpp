#include "runtime/distributed/meeting_point.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/api/error.h"

namespace ltr::distributed {

namespace {

bool is_loopback(const Str& host) { return host == "localhost" || host.starts_with("127."); }

/// A socket that listens there. The one that TCPStore would make lets every machine in.
int listen_at(Place& place) {
  const auto refused = [&] {
    return with_help(error_at({}, err::topology_unavailable, fmt::format("the ranks cannot meet at {}:{}: {}", place.host, place.port,
                                                                         std::generic_category().message(errno))),
                     "another run may have this port: set MASTER_PORT, or LTR_MASTER, to a free one");
  };
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) throw refused();
  const int yes = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(place.port));
  address.sin_addr.s_addr = htonl(is_loopback(place.host) ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(file, plain, size) != 0 || ::listen(file, SOMAXCONN) != 0 || ::getsockname(file, plain, &size) != 0) {
    const Error fault = refused();
    ::close(file);
    throw fault;
  }
  place.port = ntohs(address.sin_port);
  return file;
}

}  // namespace

struct MeetingPoint::Server {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

MeetingPoint::MeetingPoint(Place& place) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = listen_at(place);
  options.port = uint16_t(place.port);
  server_ = std::make_unique<Server>(Server{c10::make_intrusive<c10d::TCPStore>(place.host, options)});
}

MeetingPoint::~MeetingPoint() = default;

}  // namespace ltr::distributed
