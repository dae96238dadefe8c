#include "runtime/distributed/meeting_point.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/api/error.h"

namespace ltr::distributed {

namespace {

Error no_meeting(const Place& place, const Str& reason, const Str& help) {
  return with_help(
      error_at({}, err::topology_unavailable, fmt::format("the ranks cannot meet at {}: {}", place.meeting(), reason)),
      help);
}

/// The address `host` that no other machine reaches, or, where that is empty, all that this one has.
sockaddr_storage address_of(int family, const Str& host, int port) {
  sockaddr_storage address = {};
  address.ss_family = sa_family_t(family);
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  (family == AF_INET6 ? six.sin6_port : four.sin_port) = htons(uint16_t(port));
  void* const where = family == AF_INET6 ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr;
  if (!host.empty()) ::inet_pton(family, host.c_str(), where);
  return address;
}

/// A socket that listens there, and its port; -1 with `errno`.
int listen_by(int family, const Str& host, int& port) {
  const int file = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  const int yes = 1, no = 0;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) ::setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_storage address = address_of(family, host, port);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(file, plain, size) != 0 || ::listen(file, SOMAXCONN) != 0 || ::getsockname(file, plain, &size) != 0) {
    const int reason = errno;
    ::close(file);
    errno = reason;
    return -1;
  }
  port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                  : reinterpret_cast<sockaddr_in&>(address).sin_port);
  return file;
}

/// The socket that TCPStore would make lets every machine in.
int listen_at(Place& place) {
  if (place.host == "::1") return listen_by(AF_INET6, place.host, place.port);
  if (place.host == "localhost") return listen_by(AF_INET, "127.0.0.1", place.port);
  if (place.host.starts_with("127.")) return listen_by(AF_INET, place.host, place.port);
  // One of the newer family hears both; where the machine has the older one alone, that.
  const int file = listen_by(AF_INET6, "", place.port);
  const bool has_none = file < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
  return has_none ? listen_by(AF_INET, "", place.port) : file;
}

}  // namespace

MeetingPoint::MeetingPoint(Place& place, double timeout_s) {
  const int file = listen_at(place);
  if (file < 0) {
    throw no_meeting(place, std::generic_category().message(errno),
                     "another run may have this port: set MASTER_PORT, or LTR_MASTER, to a free one");
  }
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(int64_t(timeout_s * 1000));
  options.masterListenFd = file;
  options.port = uint16_t(place.port);
  try {
    store_ = connect_store(place.host, options);
  } catch (const std::exception&) {
    throw no_meeting(place, "this machine does not reach itself there",
                     "MASTER_ADDR, or LTR_MASTER, must be an address of the machine of rank 0");
  }
}

}  // namespace ltr::distributed
