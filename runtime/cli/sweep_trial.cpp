#include "runtime/cli/sweep_trial.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "doors/json.h"
#include "runtime/distributed/own_process.h"

namespace ltr::cli {

void TrialRecord::note_round(const SweepPlan& plan, int64_t epoch, int64_t step, double value) {
  epochs = std::max(epochs, double(epoch + 1));
  steps = std::max(steps, step);
  if (!best || plan.is_better(value, *best)) best = value;
}

SweepTrial::SweepTrial(TrialRecord begun, const std::vector<Str>& command, std::vector<std::pair<Str, Str>> variables,
                       const Str& log)
    : record(std::move(begun)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw error_at({}, err::cannot_write, "a pipe", std::generic_category().message(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  variables.emplace_back("LTR_SWEEP", std::to_string(::getpid()));  // it ends with this process
  variables.emplace_back("LTR_ARGS", "");                           // the command says it
  const int failed = distributed::start_own_process({command, std::move(variables)}, actions, process_);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  events_ = ends[0];
  ::fcntl(events_, F_SETFL, O_NONBLOCK);
  if (failed == 0) return;
  ::close(events_);
  throw error_at({}, err::cannot_write, log, std::generic_category().message(failed));
}

SweepTrial::~SweepTrial() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(events_);
}

void SweepTrial::stop() const {
  if (process_ > 0) ::kill(process_, SIGTERM);
}

bool SweepTrial::take(const SweepPlan& plan, const std::function<bool(TrialRecord&, double value)>& reached) {
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(events_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return true;
    if (count == 0) break;
    begun_.append(buffer, size_t(count));
    size_t begin = 0;
    for (size_t line_end; (line_end = begun_.find('\n', begin)) != Str::npos; begin = line_end + 1) {
      read_line(begun_.substr(begin, line_end - begin), plan, reached);
    }
    begun_.erase(0, begin);
  }
  end();
  return false;
}

void SweepTrial::read_line(const Str& line, const SweepPlan& plan,
                           const std::function<bool(TrialRecord&, double value)>& reached) {
  const nlohmann::json event = doors::try_json(line);
  if (!event.is_object()) return;
  const Str kind = event.value("event", "");
  if (kind == "end") record.seconds += event.value("seconds", 0.0);
  // How far it comes before the signal reaches it hangs on the clock; its row says what it was judged by.
  if (is_pruned_) return;
  const int64_t step = event.value("step", int64_t(0)), epoch = event.value("epoch", int64_t(0));
  record.steps = std::max(record.steps, step);
  if (kind == "error") record.reason = fmt::format("{} {}", event.value("code", ""), event.value("message", ""));
  if (kind != "round") return;
  record.epochs = std::max(record.epochs, double(epoch + 1));
  const nlohmann::json values = event.value("values", nlohmann::json::object());
  if (!values.contains(plan.target) || !values[plan.target].is_number()) return;
  const double value = values[plan.target];
  record.note_round(plan, epoch, step, value);
  if (reached(record, value)) return;
  is_pruned_ = true;
  stop();
}

void SweepTrial::end() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (is_pruned_ && (code == 75 || code == 0)) {  // 0: it ended by itself before the signal reached it
    record.state = "pruned";
  } else if (code == 0) {
    record.state = record.best ? "finished" : "failed";
    if (!record.best) record.reason = "it has no value of what the sweep looks for";
  } else if (code == 75 || code == 130) {
    record.state = "running";  // a signal: it goes on with the sweep
  } else {
    record.state = "failed";
    if (record.reason.empty())
      record.reason = code >= 0 ? fmt::format("exit {}", code) : fmt::format("signal {}", WTERMSIG(status));
  }
}

}  // namespace ltr::cli
