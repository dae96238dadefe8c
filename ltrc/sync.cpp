// `ltrc sync`: what a run could not send to a server while it trained.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "doors/comet.h"
#include "doors/file.h"
#include "doors/runs/mlflow_upload.h"
#include "doors/wandb_file.h"
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
template <class Failure, class Upload>
std::string send(Upload& upload) {
  for (int tries = 1;; ++tries) {
    try {
      upload.send_all();
      return "";
    } catch (const Failure& error) {
      const bool may_pass = error.status == 0 || error.status == 408 || error.status == 429 || error.status >= 500;
      if (!may_pass || tries == kTries) return fmt::format("{} values wait: {}", upload.waiting(), error.what());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250) * (1 << tries));
  }
}

/// Sends, and says what came of it.
template <class Failure, class Upload>
int send_to(const std::string& server, const std::string& run, Upload upload) {
  const std::string problem = send<Failure>(upload);
  for (const std::string& refusal : upload.take_refusals())
    fmt::print(stderr, "warning: {} does not take {}\n", server, refusal);
  if (!problem.empty()) {
    fmt::print(stderr, "error: {}: {}\n", server, problem);
    return kErrors;
  }
  fmt::print("{}: all of {} is there\n", server, run);
  return kOk;
}

}  // namespace

int run_sync(const SyncOptions& options) {
  try {
    const std::optional<doors::MlflowSettings> mlflow = doors::MlflowUpload::begun(options.run);
    const std::optional<doors::CometSettings> comet = doors::CometUpload::begun(options.run);
    const std::optional<doors::WandbSettings> wandb = doors::WandbFolder::begun(options.run);
    if (!mlflow && !comet && !wandb)
      return refuse(options.run + " has nothing to send: its experiment listed no logger with a server");
    for (const auto& [name, server] : {std::pair("mlflow.json: the `uri`", mlflow ? mlflow->uri : ""),
                                       {"comet.json: the `url`", comet ? comet->url : ""}}) {
      const auto wrong = server.empty() ? std::nullopt : wrong_tracking_address(server);
      if (wrong) return refuse(fmt::format("{}/sync/{} {}", options.run, name, *wrong));
    }
    if (!take_lock(options.run)) return refuse(options.run + " is in use: its process sends by itself");
    const std::atomic<bool> is_called_off = false;
    int code = kOk;
    if (mlflow) {
      code = std::max(
          code, send_to<doors::MlflowError>(mlflow->uri, options.run,
                                            doors::MlflowUpload(options.run, *mlflow, kRequestLimit_s, is_called_off)));
    }
    const char* key = std::getenv("COMET_API_KEY");
    const auto wrong_key = doors::CometUpload::wrong_key(key == nullptr ? "" : key);
    if (comet && wrong_key) {
      code = refuse("COMET_API_KEY of the environment " + *wrong_key);
    } else if (comet) {
      code = std::max(code, send_to<doors::CometError>(
                                comet->url, options.run,
                                doors::CometUpload(options.run, *comet, key, kRequestLimit_s, is_called_off)));
    }
    if (wandb) {
      doors::WandbFolder folder(options.run, *wandb);
      folder.write_all();
      fmt::print("the folder is up to date; this uploads it:\n  {}\n",
                 doors::WandbFolder::upload_command(options.run).value_or(""));
    }
    return code;
  } catch (const std::exception& error) {  // FormatError, std::system_error: both name the file
    return refuse(error.what());
  }
}

}  // namespace ltr::driver
