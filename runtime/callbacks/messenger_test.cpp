#include "runtime/callbacks/messenger.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace ltr {

namespace {

using Clock = std::chrono::steady_clock;

/// A port that takes connections, and says nothing.
class Silent {
 public:
  Silent() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~Silent() { ::close(socket_); }
  std::string address(const char* path) const { return fmt::format("http://127.0.0.1:{}/{}", port_, path); }

 private:
  int socket_;
  int port_ = 0;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

doors::Notification message(const char* event) {
  doors::Notification one;
  one.experiment = "e";
  one.event = event;
  return one;
}

}  // namespace

TEST_CASE("a server that does not answer takes no time of whoever tells") {
  const Silent server;
  Messenger messenger({"slack", server.address("secret-path")},
                      {.limit_s = 0.2, .apart_s = 0.05, .retries = 1, .at_end_s = 5});
  std::vector<double> took;
  for (int i = 0; i < 101; i++) {
    const auto begin = Clock::now();
    messenger.tell(message(i == 0 ? "start" : "progress"));
    took.push_back(seconds_since(begin));
  }
  // Of a machine with other things to do some took longer.
  std::ranges::sort(took);
  CHECK(took[50] < 1e-3);
  messenger.finish();
  const std::string problem = messenger.take_problem();
  CHECK(problem.starts_with("Notify: slack is not told of \"e: progress\": "));
  CHECK(problem.find("secret-path") == std::string::npos);
  CHECK(problem.find("127.0.0.1") == std::string::npos);
  CHECK(messenger.take_problem() == "");
}

TEST_CASE("a server that refuses holds the end of a run for no longer than a few tries take") {
  std::string address;
  {
    const Silent gone;
    address = gone.address("");
  }
  Messenger messenger({"webhook", address});
  for (const char* event : {"start", "best", "best", "best", "finish"}) messenger.tell(message(event));
  const auto begin = Clock::now();
  messenger.finish();
  CHECK(seconds_since(begin) < 2.5);
  CHECK(messenger.take_problem().starts_with("Notify: webhook is not told of \"e: finished\": "));
}

TEST_CASE("one that never answered is waited for two seconds, and that is said") {
  const Silent server;
  Messenger messenger({"webhook", server.address("")});
  messenger.tell(message("finish"));
  const auto begin = Clock::now();
  messenger.finish();
  CHECK(seconds_since(begin) < 4);
  CHECK(messenger.take_problem() == "Notify: webhook does not answer");
}

TEST_CASE("what is left is let go of at the end") {
  const Silent server;
  const auto begin = Clock::now();
  {
    Messenger messenger({"webhook", server.address("")}, {.limit_s = 60, .apart_s = 1, .retries = 2, .at_end_s = 0.1});
    messenger.tell(message("finish"));
  }
  CHECK(seconds_since(begin) < 10);
}

}  // namespace ltr
