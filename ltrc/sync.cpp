// `ltrc sync`: what a run could not send to a server while it trained.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "doors/file.h"
#include "doors/runs/mlflow_upload.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::driver {

namespace {

constexpr double kRequestLimit_s = 120;
constexpr int kTries = 5;

/// The lock of a run, as the process that trains it has it. It goes with this process.
bool take_lock(const std::string& run) {
  const int lock = ::open((run + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  return lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0;
}

int refuse(const std::string& what) {
  fmt::print(stderr, "error: {}\n", what);
  return kUsage;
}

/// What the server does not have in the end, and why; "" if it has all.
std::string send(doors::MlflowUpload& upload) {
  for (int tries = 1;; ++tries) {
    try {
      upload.send_all();
      return "";
    } catch (const doors::MlflowError& error) {
      const bool may_pass = error.status == 0 || error.status == 408 || error.status == 429 || error.status >= 500;
      if (!may_pass || tries == kTries) return fmt::format("{} values wait: {}", upload.waiting(), error.what());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250) * (1 << tries));
  }
}

}  // namespace

int run_sync(const SyncOptions& options) {
  try {
    const std::optional<doors::MlflowSettings> settings = doors::MlflowUpload::begun(options.run);
    if (!settings) return refuse(options.run + " has nothing to send: its experiment listed no logger with a server");
    if (const auto wrong = wrong_tracking_address(settings->uri))
      return refuse(fmt::format("{}/sync/mlflow.json: the `uri` {}", options.run, *wrong));
    if (!take_lock(options.run)) return refuse(options.run + " is in use: its process sends by itself");
    const std::atomic<bool> is_called_off = false;
    doors::MlflowUpload upload(options.run, *settings, kRequestLimit_s, is_called_off);
    const std::string problem = send(upload);
    for (const std::string& refusal : upload.take_refusals())
      fmt::print(stderr, "warning: {} does not take {}\n", settings->uri, refusal);
    if (problem.empty()) {
      fmt::print("{}: all of {} is there\n", settings->uri, options.run);
      return kOk;
    }
    fmt::print(stderr, "error: {}: {}\n", settings->uri, problem);
    return kErrors;
  } catch (const std::exception& error) {  // FormatError, std::system_error: both name the file
    return refuse(error.what());
  }
}

}  // namespace ltr::driver
