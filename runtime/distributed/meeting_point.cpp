#include "runtime/distributed/meeting_point.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <type_traits>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/api/error.h"

namespace ltr::distributed {

namespace {

std::vector<uint8_t> bytes_of(const Str& text) { return {text.begin(), text.end()}; }

Str text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

bool is_loopback(const Str& host) { return host == "localhost" || host.starts_with("127."); }

Error cannot_open(const Place& place, const Str& why) {
  return with_help(error_at({}, err::topology_unavailable, fmt::format("the ranks cannot meet at {}:{}: {}", place.host, place.port, why)),
                   "another job may use this port: choose one with MASTER_PORT or LTR_MASTER");
}

/// A socket that listens there. TCPStore's own would listen to every machine, and it lets everybody in.
int listen_at(Place& place) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) throw cannot_open(place, std::generic_category().message(errno));
  const int yes = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(place.port));
  address.sin_addr.s_addr = htonl(is_loopback(place.host) ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(file, plain, size) != 0 || ::listen(file, SOMAXCONN) != 0 || ::getsockname(file, plain, &size) != 0) {
    const Error fault = cannot_open(place, std::generic_category().message(errno));
    ::close(file);
    throw fault;
  }
  place.port = ntohs(address.sin_port);
  return file;
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const Place& place, c10d::TCPStoreOptions options) {
  options.port = uint16_t(place.port);
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::TCPStore>(place.host, options);
}

/// What `body` gives, with c10d's exceptions as ours.
template <class Body>
auto reached(const Place& place, Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (const c10::Error& error) {
    const Str text = error.what_without_backtrace();
    throw error_at({}, err::rank_lost, fmt::format("the meeting point {}:{} does not answer: {}", place.host, place.port,
                                                   text.substr(0, text.find('\n'))));
  }
}

}  // namespace

struct MeetingPoint::Server {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

MeetingPoint::MeetingPoint(Place& place) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.masterListenFd = listen_at(place);
  server_ = std::make_unique<Server>(Server{reached(place, [&] { return open_store(place, options); })});
}

MeetingPoint::~MeetingPoint() = default;

struct Guest::Client {
  Place place;
  c10::intrusive_ptr<c10d::TCPStore> store;
  Str name(const Str& key) const { return place.prefix + key; }
};

Guest::Guest(const Place& place, std::chrono::milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.timeout = patience;
  client_ = std::make_unique<Client>(Client{place, reached(place, [&] { return open_store(place, options); })});
}

Guest::~Guest() = default;

void Guest::set(const Str& key, const Str& text) {
  reached(client_->place, [&] { client_->store->set(client_->name(key), bytes_of(text)); });
}

Option<Str> Guest::find(const Str& key) {
  return reached(client_->place, [&]() -> Option<Str> {
    if (!client_->store->check({client_->name(key)})) return std::nullopt;
    return text_of(client_->store->get(client_->name(key)));
  });
}

Str Guest::set_once(const Str& key, const Str& text) {
  return reached(client_->place,
                 [&] { return text_of(client_->store->compareSet(client_->name(key), {}, bytes_of(text))); });
}

int64_t Guest::add(const Str& key, int64_t more) {
  return reached(client_->place, [&] { return client_->store->add(client_->name(key), more); });
}

}  // namespace ltr::distributed
