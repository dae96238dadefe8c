#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "runtime/api/error.h"
#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

struct Folder {
  Folder() : path((std::filesystem::temp_directory_path() / ("ltr-log-" + std::to_string(::getpid()))).string()) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Str path;
};

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

}  // namespace

TEST_CASE("metrics.csv: fixed columns, one row per step, blanks, shortest numbers") {
  const Folder folder;
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
  const Folder folder;
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
    make_loggers({Value::call("Mlflow", {})}, {"/tmp", -1, {}});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.message == "this version has no logger Mlflow");
  }
}

}  // namespace ltr::loggers
