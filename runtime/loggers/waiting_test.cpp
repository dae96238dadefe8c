#include "runtime/loggers/waiting.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

using ltr::Str;
using ltr::loggers::Waiting;
using ltr::loggers::WaitingFile;

namespace {

Str fresh_path() {
  return (std::filesystem::temp_directory_path() / ("ltr-waiting-" + std::to_string(::getpid()))).string();
}

Str text_of(const Str& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// No file of this process grows beyond `bytes` while it lives.
struct SmallFiles {
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit now{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
  }
  rlimit before{};
  sighandler_t handler;
};

}  // namespace

TEST_CASE("what a full disk does not take waits and comes later, in order and whole") {
  const Str path = fresh_path();
  std::filesystem::remove(path);
  {
    WaitingFile file(path);
    file.append("one\n", true);
    {
      const SmallFiles full(6);
      CHECK_THROWS_AS(file.append("two\n", true), Waiting);
      CHECK_THROWS_AS(file.append("three\n", false), Waiting);
      CHECK(text_of(path) == "one\n");
      CHECK(file.is_waiting());
    }
    file.append("four\n", true);
    CHECK_FALSE(file.is_waiting());
    CHECK(text_of(path) == "one\ntwo\nthree\nfour\n");
    CHECK(file.dropped() == 0);
    file.replace_last("4\n");
    CHECK(text_of(path) == "one\ntwo\nthree\n4\n");
  }
  std::filesystem::remove(path);
}

TEST_CASE("memory is bounded: the oldest lines that may go are dropped and counted") {
  const Str path = fresh_path();
  std::filesystem::remove(path);
  {
    WaitingFile file(path, nullptr, 12);
    {
      const SmallFiles full(0);
      CHECK_THROWS_AS(file.append("keep\n", false), Waiting);
      CHECK_THROWS_AS(file.append("1234\n", true), Waiting);
      CHECK_THROWS_AS(file.append("5678\n", true), Waiting);
    }
    file.flush();
    CHECK(text_of(path) == "keep\n5678\n");
    CHECK(file.dropped() == 1);
  }
  std::filesystem::remove(path);
}

TEST_CASE("half a line of a killed process is cut off") {
  const Str path = fresh_path();
  std::ofstream(path) << "one\ntw";
  {
    WaitingFile file(path);
    file.append("two\n", true);
  }
  CHECK(text_of(path) == "one\ntwo\n");
  std::filesystem::remove(path);
}
