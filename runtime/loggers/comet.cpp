// `Comet()`: a thread of its own follows the journal, and tells the service. Whatever that does, training goes on; what it does not
// have at the end waits in the journal for `ltrc sync`.

#include "doors/comet.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "runtime/api/crash_stack.h"
#include "runtime/api/error.h"
#include "runtime/loggers/make.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::loggers {

namespace {

class CometLogger : public Logger {
 public:
  CometLogger(Str run_dir, const doors::CometSettings& settings, Str key, Warn warn)
      : run_dir_(std::move(run_dir)),
        url_(settings.url),
        warn_(std::move(warn)),
        upload_(run_dir_, settings, std::move(key), kRequest_s, is_called_off_) {
    // Signals are for the thread that trains.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~CometLogger() override { leave(); }

  const char* name() const override { return "Comet"; }

  /// Everything is in the journal by now.
  void close() override {
    std::unique_lock lock(mutex_);
    const int64_t before = upload_.answers();
    is_finishing_ = true;
    changed_.notify_all();
    const auto begin = std::chrono::steady_clock::now();
    const auto wait = [&](double seconds) {
      const auto until = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                     std::chrono::duration<double>(seconds));
      changed_.wait_until(lock, until, [this] { return is_done_; });
    };
    wait(kSilent_s);
    if (upload_.answers() > before) wait(kFlush_s);
    const bool is_done = is_done_;
    lock.unlock();
    leave();
    if (problem_.empty() && is_done) return;
    warn_(fmt::format("Comet: the end of this run is not sent to {}: {}; `ltrc sync {}` sends it", url_,
                      problem_.empty() ? "it is too slow" : problem_, run_dir_));
  }

 private:
  static constexpr double kRequest_s = 30;      // of a request
  static constexpr double kLook_s = 5;          // between looks into the journal
  static constexpr double kLongestRest_s = 60;  // after failures in a row
  static constexpr double kSilent_s = 2;        // at the end, for a service that does not answer
  static constexpr double kFlush_s = 30;        // for one that does
  static constexpr int kLastTries = 3;          // of one that answers, and refuses

  void leave() {
    if (!thread_.joinable()) return;
    is_called_off_ = true;
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run() {
    const CrashStack stack;
    int failures = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      const bool is_last = is_finishing_;
      lock.unlock();
      const int64_t before = upload_.answers();
      const Str problem = send();
      const bool has_answered = upload_.answers() > before;
      lock.lock();
      failures = problem.empty() ? 0 : failures + 1;
      if (!is_called_off_) tell(problem);
      if (is_ending_ || (is_last && (problem.empty() || !has_answered || failures >= kLastTries))) break;
      // Of a service in trouble less is asked, until the run ends.
      const double rest_s = is_last ? 0.3
                            : problem.empty()
                                ? kLook_s
                                : std::min(kLongestRest_s, double(int64_t(1) << std::min(failures - 1, 6)));
      const auto is_wanted = [&] { return is_ending_ || (is_finishing_ && !is_last); };
      changed_.wait_for(lock, std::chrono::duration<double>(rest_s), is_wanted);
      if (is_ending_) break;
      if (is_finishing_ && !is_last) failures = 0;
    }
    is_done_ = true;
    changed_.notify_all();
  }

  /// What went wrong; "" if all is sent.
  Str send() {
    try {
      upload_.send_all();
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  /// That it fails is said once, and once that it works again; the end says the rest.
  void tell(const Str& problem) {
    for (const Str& refusal : upload_.take_refusals()) warn_(fmt::format("Comet: {} does not take {}", url_, refusal));
    if (!problem.empty() && !is_finishing_ && !std::exchange(is_told_, true))
      warn_(fmt::format("Comet: {} is not told of this run: {}; its records wait in log.jsonl", url_, problem));
    if (problem.empty() && is_told_ && !std::exchange(is_told_better_, true))
      warn_(fmt::format("Comet: {} works again, and has what waited", url_));
    problem_ = problem;
  }

  Str run_dir_;
  Str url_;
  Warn warn_;
  std::atomic<bool> is_called_off_ = false;
  doors::CometUpload upload_;  ///< of the thread, until that is gone
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_finishing_ = false;
  bool is_ending_ = false;
  bool is_done_ = false;
  bool is_told_ = false;
  bool is_told_better_ = false;
  Str problem_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Logger> make_comet(const Value& call, const LoggerSetup& setup) {
  const auto text = [&](const char* name, const char* variable, const Str& initial) {
    const Value* value = call.find(name);
    if (value != nullptr && !value->is_none()) return value->as_str();
    const char* set = variable == nullptr ? nullptr : std::getenv(variable);
    return set != nullptr && *set != '\0' ? Str(set) : initial;
  };
  const doors::CometSettings settings{.url = doors::CometUpload::service(),
                                      .workspace = text("workspace", "COMET_WORKSPACE", ""),
                                      .project = text("project", "COMET_PROJECT_NAME", setup.experiment),
                                      .name = text("name", nullptr, "")};
  const char* key = std::getenv("COMET_API_KEY");
  if (const auto wrong = doors::CometUpload::wrong_key(key == nullptr ? "" : key)) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             fmt::format("Comet: COMET_API_KEY of the environment {}", *wrong)),
                    "set it, or run with --set loggers.Comet=off");
  }
  if (settings.workspace.empty()) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             "Comet: neither `workspace` nor COMET_WORKSPACE says whose experiments these are"),
                    "Comet(workspace = \"my-team\")");
  }
  if (wrong_tracking_address(settings.url)) {
    throw error_at(call.location, err::settings_contradict,
                   "Comet: COMET_URL_OVERRIDE is http:// or https:// and a host, without password, `?` and `#`");
  }
  return std::make_unique<CometLogger>(setup.run_dir, settings, key, setup.warn);
}

}  // namespace ltr::loggers
