// `Mlflow()`: a thread of its own follows the journal, and tells the server. Whatever that does, training goes on; what it does
// not have at the end waits in the journal for `ltrc sync`.

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "doors/file.h"
#include "doors/runs/mlflow_upload.h"
#include "runtime/api/crash_stack.h"
#include "runtime/api/error.h"
#include "runtime/loggers/make.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::loggers {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kLimit_s = 30;          // of a request
constexpr double kRequiredLimit_s = 10;  // of one that the run waits for
constexpr double kEvery_s = 5;           // between looks into the journal
constexpr int64_t kSoon = 100;           // records that do not wait as long
constexpr double kLongestPause_s = 60;   // after failures in a row
constexpr double kSilentAtEnd_s = 2;     // for a server that does not answer
constexpr double kAtEnd_s = 30;          // for one that does
constexpr int kTriesAtEnd = 3;           // of one that answers, and refuses

void tell_refusals(doors::MlflowUpload& upload, const Str& uri, const Warn& warn) {
  for (const Str& refusal : upload.take_refusals()) warn(fmt::format("Mlflow: {} does not take {}", uri, refusal));
}

class MlflowLogger : public Logger {
 public:
  MlflowLogger(Str run_dir, const doors::MlflowSettings& settings, Warn warn)
      : run_dir_(std::move(run_dir)),
        uri_(settings.uri),
        warn_(std::move(warn)),
        upload_(run_dir_, settings, kLimit_s, is_called_off_) {
    // Signals are for the thread that trains.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~MlflowLogger() override { leave(); }

  const char* name() const override { return "Mlflow"; }
  void scalars(int64_t, int64_t, double, const NamedValues&) override { count(); }
  void system(int64_t, double, const NamedValues&) override { count(); }

  /// Everything is in the journal by now.
  void close() override {
    std::unique_lock lock(mutex_);
    const int64_t before = upload_.answers();
    is_finishing_ = true;
    changed_.notify_all();
    const auto begin = std::chrono::steady_clock::now();
    const auto wait = [&](double seconds) {
      const auto until = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
      changed_.wait_until(lock, until, [this] { return is_done_; });
    };
    wait(kSilentAtEnd_s);
    if (upload_.answers() > before) wait(kAtEnd_s);
    const bool is_done = is_done_;
    lock.unlock();
    leave();
    if (problem_.empty() && is_done) return;
    warn_(fmt::format("Mlflow: {} of this run are not sent to {}: {}; `ltrc sync {}` sends them", waiting_text(), uri_,
                      problem_.empty() ? "it is too slow" : problem_, run_dir_));
  }

 private:
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

  void count() {
    const std::lock_guard lock(mutex_);
    if (++records_ == kSoon) changed_.notify_all();
  }

  Str waiting_text() const {
    try {
      return fmt::format("{} values", upload_.waiting());
    } catch (const std::exception&) {
      return "values";
    }
  }

  void run() {
    const CrashStack stack;
    int failures = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      const bool is_last = is_finishing_;
      records_ = 0;
      lock.unlock();
      const int64_t before = upload_.answers();
      const Str problem = send();
      const bool has_answered = upload_.answers() > before;
      lock.lock();
      failures = problem.empty() ? 0 : failures + 1;
      if (!is_called_off_) tell(problem);
      if (is_ending_ || (is_last && (problem.empty() || !has_answered || failures >= kTriesAtEnd))) break;
      // Of a server in trouble less is asked, until the run ends.
      if (problem.empty()) {
        changed_.wait_for(lock, Seconds(kEvery_s), [this] { return is_finishing_ || is_ending_ || records_ >= kSoon; });
      } else if (is_last) {
        changed_.wait_for(lock, Seconds(0.3), [this] { return is_ending_; });
      } else {
        const double pause_s = std::min(kLongestPause_s, double(int64_t(1) << std::min(failures - 1, 6)));
        changed_.wait_for(lock, Seconds(pause_s), [this] { return is_finishing_ || is_ending_; });
        if (is_finishing_) failures = 0;
      }
      if (is_ending_) break;
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
    tell_refusals(upload_, uri_, warn_);
    if (!problem.empty() && !is_finishing_ && !std::exchange(is_told_, true))
      warn_(fmt::format("Mlflow: {} is not told of this run: {}; its records wait in log.jsonl", uri_, problem));
    if (problem.empty() && is_told_ && !std::exchange(is_told_better_, true))
      warn_(fmt::format("Mlflow: {} works again, and has what waited", uri_));
    problem_ = problem;
  }

  Str run_dir_;
  Str uri_;
  Warn warn_;
  std::atomic<bool> is_called_off_ = false;
  doors::MlflowUpload upload_;  ///< of the thread, until that is gone
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t records_ = 0;  ///< since the thread looked into the journal
  bool is_finishing_ = false;
  bool is_ending_ = false;
  bool is_done_ = false;
  bool is_told_ = false;
  bool is_told_better_ = false;
  Str problem_;
  std::thread thread_;
};

Str text_of(const Value& call, const char* name, const Str& initial) {
  const Value* value = call.find(name);
  return value == nullptr || value->is_none() ? initial : value->as_str();
}

bool is_on(const Value& call, const char* name, bool initial) {
  const Value* value = call.find(name);
  return value == nullptr || value->is_none() ? initial : value->as_bool();
}

doors::MlflowSettings settings_of(const Value& call, const Str& experiment) {
  const char* variable = std::getenv("MLFLOW_TRACKING_URI");
  const Value* given = call.find("uri");
  const bool is_given = given != nullptr && !given->is_none();
  const Str uri = is_given ? given->as_str() : variable != nullptr ? variable : "";
  const Str what = is_given ? "`uri`" : "MLFLOW_TRACKING_URI";
  if (!is_given && uri.empty()) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             "Mlflow: neither `uri` nor MLFLOW_TRACKING_URI says where the server is"),
                    "Mlflow(uri = \"http://127.0.0.1:5000\"), or run with --set loggers.Mlflow=off");
  }
  if (const Option<Str> wrong = wrong_tracking_address(uri))
    throw error_at(call.location, err::settings_contradict, fmt::format("Mlflow: {} {}", what, *wrong));
  const Value* artifacts = call.find("artifacts");
  return {.uri = uri,
          .experiment = text_of(call, "experiment", experiment),
          .run_name = text_of(call, "run_name", ""),
          .artifacts = artifacts == nullptr ? "best" : artifacts->text,
          .has_origin = is_on(call, "auto", true)};
}

}  // namespace

std::unique_ptr<Logger> make_mlflow(const Value& call, const LoggerSetup& setup) {
  const doors::MlflowSettings settings = settings_of(call, setup.experiment);
  if (is_on(call, "required", false)) {
    const std::atomic<bool> is_called_off = false;
    try {
      doors::MlflowUpload upload(setup.run_dir, settings, kRequiredLimit_s, is_called_off);
      upload.begin();
      tell_refusals(upload, settings.uri, setup.warn);
    } catch (const doors::MlflowError& error) {
      throw error_at(call.location, err::logger_unreachable, "Mlflow", error.what());
    }
  }
  return std::make_unique<MlflowLogger>(setup.run_dir, settings, setup.warn);
}

}  // namespace ltr::loggers
