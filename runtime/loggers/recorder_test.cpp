#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "doors/scratch.h"
#include "runtime/api/error.h"
#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

Str text_of_file(const Str& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::unique_ptr<Recorder> record(const Str& folder, int64_t resume_step = -1) {
  return std::make_unique<Recorder>(
      make_loggers({Value::call("Csv", {}), Value::call("TensorBoard", {})}, {folder, resume_step, {}}));
}

class Broken : public Logger {
 public:
  const char* name() const override { return "Broken"; }
  void scalars(int64_t step, int64_t, double, const NamedValues&) override {
    if (step < 3) throw std::runtime_error("disk full");
  }
};

/// Waits in its first call.
class Slow : public Logger {
 public:
  const char* name() const override { return "Slow"; }
  void scalars(int64_t step, int64_t, double, const NamedValues&) override { steps.push_back(step); }
  void event(int64_t, double, const Str&, const Str&) override {
    if (events++ > 0) return;
    has_begun.set_value();
    may_go_on.get_future().wait();
  }
  std::promise<void> has_begun;
  std::promise<void> may_go_on;
  std::vector<int64_t> steps;
  int events = 0;
};

}  // namespace

TEST_CASE("metrics.csv: fixed columns, one row per step, blanks, shortest numbers") {
  const testing::ScratchFolder folder;
  const auto recorder = record(folder.path);
  recorder->columns({"train/loss", "val/loss"});
  recorder->scalars(1, 0, {{"train/loss", 0.1}});
  recorder->scalars(10, 0, {{"train/loss", 1e-5}});
  recorder->flush();
  recorder->scalars(10, 0, {{"val/loss", NAN}});
  recorder->close();
  CHECK(text_of_file(folder.path + "/metrics.csv") == "step,epoch,train/loss,val/loss\n1,0,0.1,\n10,0,1e-05,nan\n");
  CHECK(text_of_file(folder.path + "/log.jsonl").find("\"step\":10,\"epoch\":0") != Str::npos);
}

TEST_CASE("a resumed metrics.csv equals an undisturbed one") {
  const testing::ScratchFolder folder;
  auto recorder = record(folder.path);
  recorder->columns({"a"});
  for (int64_t step = 1; step <= 5; ++step) recorder->scalars(step, 0, {{"a", double(step)}});
  recorder.reset();
  const Str whole = text_of_file(folder.path + "/metrics.csv");
  recorder = record(folder.path, 3);
  recorder->columns({"a"});
  recorder->scalars(3, 0, {{"a", 3.0}});
  recorder->scalars(4, 0, {{"a", 4.0}});
  recorder->scalars(5, 0, {{"a", 5.0}});
  recorder.reset();
  CHECK(text_of_file(folder.path + "/metrics.csv") == whole);
}

TEST_CASE("metrics.csv goes on by name: new columns are empty in old rows, gone ones stay") {
  const testing::ScratchFolder folder;
  auto recorder = record(folder.path);
  recorder->columns({"a", "b"});
  for (int64_t step = 1; step <= 3; ++step)
    recorder->scalars(step, 0, {{"a", double(step)}, {"b", 10.0 * double(step)}});
  recorder.reset();
  recorder = record(folder.path, 3);
  recorder->columns({"new", "b"});
  recorder->scalars(3, 0, {{"new", 0.5}, {"b", 30.0}});
  recorder->scalars(4, 1, {{"new", 0.25}});
  recorder.reset();
  CHECK(text_of_file(folder.path + "/metrics.csv") ==
        "step,epoch,new,b,a\n1,0,,10,1\n2,0,,20,2\n3,0,0.5,30,\n4,1,0.25,,\n");
  recorder = record(folder.path, 4);
  recorder->columns({"a"});
  recorder->scalars(4, 1, {{"a", 4.0}});
  recorder.reset();
  CHECK(text_of_file(folder.path + "/metrics.csv") ==
        "step,epoch,a,new,b\n1,0,1,,10\n2,0,2,,20\n3,0,,0.5,30\n4,1,4,,\n");
}

TEST_CASE("events of a resumed run: of the row of its first step what is not there yet") {
  const testing::ScratchFolder folder;
  {
    doors::EventFile before(folder.path + "/events.out.tfevents.1.host.1.0", 0, 1.0);
    for (int64_t step = 1; step <= 5; ++step) before.scalar(step, 1.0, "a", double(step));
  }
  auto recorder = record(folder.path, 3);
  recorder->columns({"a", "b"});
  recorder->scalars(3, 0, {{"a", 3.0}, {"b", 1.0}});
  recorder->scalars(4, 0, {{"a", 4.0}});
  recorder.reset();
  const std::vector<Str> files = doors::event_files(folder.path);
  REQUIRE(files.size() == 2);
  CHECK((doors::scalar_tags({files[1]}, 3) == std::set<Str>{"b"}));
  CHECK((doors::scalar_tags({files[1]}, 4) == std::set<Str>{"a"}));
  CHECK((doors::scalar_tags(files, 3) == std::set<Str>{"a", "b"}));
  CHECK(doors::scalar_tags({files[0]}, 5).size() == 1);
  CHECK(doors::scalar_tags(files, 5).empty());
}

TEST_CASE("Csv writes .csv files of the run folder and nothing else") {
  for (const char* file : {"../../x.csv", "/tmp/x.csv", "run.json", "a/../../x.csv"}) {
    const Value call = Value::call("Csv", {{"file", Value(Str(file)), "str", {}}});
    CHECK_THROWS_AS(make_loggers({call}, {"/tmp", -1, {}}), Error);
  }
}

TEST_CASE("slow loggers: memory is bounded, the oldest values go and are counted") {
  std::vector<std::unique_ptr<Logger>> loggers;
  auto slow = std::make_unique<Slow>();
  Slow& seen = *slow;
  loggers.push_back(std::move(slow));
  std::vector<Str> warnings;
  Recorder recorder(std::move(loggers), [&](const Str& text) { warnings.push_back(text); }, 2000);
  recorder.event(0, "start");
  seen.has_begun.get_future().wait();
  for (int64_t step = 1; step <= 100; ++step) recorder.scalars(step, 0, {{"loss", 1.0}});
  recorder.event(100, "finish");
  seen.may_go_on.set_value();
  recorder.close();
  CHECK(seen.events == 2);
  CHECK(seen.steps.size() < 50);
  CHECK(seen.steps.back() == 100);
  CHECK(warnings == std::vector<Str>{std::to_string(100 - seen.steps.size()) +
                                     " records were dropped: the loggers are slower than the run"});
}

TEST_CASE("a logger that fails warns once and again when it works") {
  std::vector<std::unique_ptr<Logger>> loggers;
  loggers.push_back(std::make_unique<Broken>());
  std::vector<Str> warnings;
  Recorder recorder(std::move(loggers), [&](const Str& text) { warnings.push_back(text); });
  for (int64_t step = 0; step < 5; ++step) recorder.scalars(step, 0, {});
  recorder.close();
  CHECK(warnings ==
        std::vector<Str>{"the logger Broken failed: disk full", "the logger Broken works again; 3 records are lost"});
}

TEST_CASE("a logger of another version is refused by name") {
  try {
    make_loggers({Value::call("Neptune", {})}, {"/tmp", -1, {}});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.message == "this version has no logger Neptune");
  }
}

}  // namespace ltr::loggers
