#include "runtime/train/signals.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <thread>

#include "ltr/api.h"

namespace ltr {

namespace {

/// What `act` writes to stderr.
Str said_by(auto act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  act();
  dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  Str text;
  char part[4096];
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;) text.append(part, size_t(count));
  ::close(ends[0]);
  return text;
}

size_t count_of(const Str& text, const Str& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != Str::npos; at = text.find(part, at + 1)) count++;
  return count;
}

}  // namespace

TEST_CASE("a Ctrl-C that two threads meet at once is one") {
  for (int round = 0; round < 200; round++) {
    const SignalWatch watch;
    std::barrier both(2);
    const auto press = [&] {
      both.arrive_and_wait();
      pthread_kill(pthread_self(), SIGINT);
    };
    const Str said = said_by([&] {
      std::jthread other(press);
      press();
    });
    REQUIRE(count_of(said, "again to stop without saving") == 1);
    REQUIRE(SignalWatch::received() == SIGINT);
  }
}

}  // namespace ltr
