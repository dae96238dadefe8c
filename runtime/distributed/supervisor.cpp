#include "runtime/distributed/supervisor.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "runtime/distributed/first_failure.h"
#include "runtime/distributed/heartbeat.h"
#include "runtime/distributed/meeting_point.h"
#include "runtime/distributed/rank_process.h"
#include "runtime/distributed/store.h"
#include "runtime/distributed/team_signals.h"

namespace ltr::distributed {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = 1s;
// Ticks of the supervisor, not time: a machine that slept has not waited.
constexpr int kSilentTicks = 10;
// How long the others may take once one has failed: those of one that stands still have waited for it already.
constexpr int kGraceTicks = 10;
constexpr int kSilentGraceTicks = 3;
constexpr auto kSameSignal = 300ms;  // one Ctrl-C that came twice
constexpr double kAnswer_s = 3;      // of a meeting point that is open
constexpr const char* kRunVariable = "LTR_RESUME_RUN";
constexpr const char* kAgainVariable = "LTR_BEGINS_AGAIN";

constexpr int kStopped = 75;
constexpr int kInterrupted = 130;

int code_of(int signal) { return signal == SIGINT ? kInterrupted : kStopped; }

bool is_asked_for(int code) { return code == 0 || code == kStopped || code == kInterrupted; }

Str signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

/// Whether a crash handler has said it, with the line of the program.
bool is_crash(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT;
}

/// Says to all ranks that `own` failed; nothing, or who was before it.
Option<Failure> failed_before(const Place& place, const Failure& own) {
  try {
    const Store store = open_store(place, kAnswer_s);
    return tell_failure(*store, own);
  } catch (const std::exception&) {
    return std::nullopt;  // the process that kept the meeting point is gone, and with it whoever was first
  }
}

/// A rank of this machine, or one of another machine that is only watched.
struct Member {
  int64_t rank = 0;
  pid_t pid = 0;  ///< 0: on another machine
  bool is_gone = false;
  bool is_ended = false;  ///< by us: how it ends says nothing
  int64_t beats = 0;
  int silent_ticks = 0;
};

/// All ranks from their start to the end of the last.
class Attempt {
 public:
  Attempt(const Team& team, int64_t number, const TeamSignals& signals, const TeamReport& report)
      : team_(team), number_(number), signals_(signals), report_(report), meeting_(as_guest(team.first, number)) {}
  ~Attempt() { end_all(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void run(const Str& run) {
    if (!start(run)) return;
    const Pulses pulses(meeting_, members_.front().rank, int64_t(members_.size()));
    for (Clock::time_point tick = Clock::now() + kTick; is_any_left();) {
      const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(tick - Clock::now());
      if (const Option<Signal> signal = signals_.wait(std::max(rest, 0ms)); signal && signal->number != SIGCHLD)
        pass_on(*signal);
      reap();
      if (Clock::now() < tick) continue;
      tick = Clock::now() + kTick;
      count_tick(pulses);
    }
  }

  /// 0, or what the first that failed ended with; else 75 or 130.
  int exit_code() const { return failure_ ? failure_->exit_code : asked_code_; }
  /// What was said of a rank that could not say it itself.
  const Option<Error>& told() const { return told_; }
  /// Whether the first rank, which tells of the run, ended without a word.
  bool is_first_mute() const { return told_ && failure_->rank == 0 && !has_crashed_; }
  /// Whether another attempt may end better: nobody asked for this end, and no setting, record or number led to it.
  bool may_go_better() const {
    return failure_ && (failure_->exit_code == 1 || told_) && asked_signal_ == 0 && asked_code_ == 0;
  }

 private:
  /// False if a signal came before all of them were there: none has begun anything then, and all are gone.
  bool start(const Str& run) {
    Place place = meeting_;
    for (int64_t local = 0; local < place.local_size; local++, place.rank++, place.local_rank++) {
      if (was_told_to_stop()) {
        end_all();
        return false;
      }
      RankStart rank{.command = team_.command,
                     .place = place,
                     .attempt = number_,
                     .has_input = place.rank == 0,
                     .mask = &signals_.before()};
      if (!run.empty()) rank.variables.emplace_back(kRunVariable, run);
      if (number_ < team_.restarts) rank.variables.emplace_back(kAgainVariable, "1");
      members_.push_back({place.rank, start_rank(rank)});
    }
    // Whoever keeps the meeting point sees all ranks come there.
    if (team_.first.serves) {
      for (int64_t rank = place.rank; rank < place.world; rank++) members_.push_back({rank});
    }
    return true;
  }

  /// By a signal that has come so far.
  bool was_told_to_stop() {
    while (const Option<Signal> signal = signals_.wait(0ms)) {
      if (signal->number == SIGCHLD) continue;
      asked_code_ = code_of(signal->number);
      report_.note("stopped before all ranks had begun");
      return true;
    }
    return false;
  }

  bool is_any_left() const {
    return std::any_of(members_.begin(), members_.end(),
                       [](const Member& one) { return one.pid != 0 && !one.is_gone; });
  }

  void kill_all(int signal) {
    for (Member& member : members_) {
      if (member.pid != 0 && !member.is_gone) ::kill(member.pid, signal);
      if (signal == SIGKILL) member.is_ended = true;
    }
  }

  void end_all() {
    kill_all(SIGKILL);
    for (Member& member : members_) {
      if (member.pid != 0 && !member.is_gone) ::waitpid(member.pid, nullptr, 0);
      member.is_gone = true;
    }
  }

  void pass_on(const Signal& signal) {
    const bool is_second = signal.number == SIGINT && asked_signal_ == SIGINT;
    if (is_second && Clock::now() - asked_at_ < kSameSignal) return;
    if (!is_second) {
      asked_signal_ = signal.number;
      asked_at_ = Clock::now();
    }
    // The terminal has told them all.
    if (!signal.is_of_terminal) kill_all(signal.number);
    // They leave at once, and a moment later nobody is asked any more.
    if (is_second) fail({members_.front().rank, 1}, 1);
  }

  void reap() {
    for (Member& member : members_) {
      int status = 0;
      if (member.pid == 0 || member.is_gone || ::waitpid(member.pid, &status, WNOHANG) != member.pid) continue;
      member.is_gone = true;
      if (WIFSIGNALED(status))
        killed(member, WTERMSIG(status));
      else if (is_asked_for(WEXITSTATUS(status)))
        asked_code_ = std::max(asked_code_, WEXITSTATUS(status));
      else
        failed(member, WEXITSTATUS(status));
    }
  }

  /// It has said why, or knows who has; unless it, or a rank of another machine, ended without a word.
  void failed(const Member& member, int code) {
    if (failure_) return;
    const Option<Failure> first = failed_before(meeting_, {member.rank, code});
    if (!first) tell(unexplained(member.rank, code));
    fail(first.value_or(Failure{member.rank, code}), kGraceTicks);
  }

  Error unexplained(int64_t rank, int code) const {
    const bool may_be_elsewhere = meeting_.world > meeting_.local_size && code == 1;
    if (may_be_elsewhere)
      return with_help(
          error_at({}, err::rank_lost, fmt::format("rank {} lost another one, which has not said why", rank)),
          "look at the other machines: what ended there says more");
    return with_help(
        error_at({}, err::rank_lost, fmt::format("rank {} ended with exit code {} and without a word", rank, code)),
        "C++ or a library that the program calls may have ended it");
  }

  void killed(const Member& member, int signal) {
    if (member.is_ended) return;
    if (signal == asked_signal_) {
      // Told to stop before it had a handler for it: nothing was begun.
      asked_code_ = std::max(asked_code_, code_of(signal));
      return;
    }
    Error error =
        error_at({}, err::rank_lost, fmt::format("rank {} was killed ({})", member.rank, signal_name(signal)));
    has_crashed_ = is_crash(signal);
    if (has_crashed_)
      error.help = "where it crashed stands above";
    else if (signal == SIGKILL)
      error.help =
          "if nobody did that, it was for its memory: `dmesg` names it then; try a smaller batch, fewer ranks or fewer "
          "--workers";
    lose(member, error, kGraceTicks);
  }

  /// The first that fails is the one that is told about: the others lose it.
  void lose(const Member& member, const Error& error, int grace_ticks) {
    if (failure_) return;
    const Failure own{member.rank, error.exit_code()};
    const Option<Failure> first = failed_before(meeting_, own);
    if (!first) tell(error);
    fail(first.value_or(own), grace_ticks);
  }

  void tell(const Error& error) {
    told_ = error;
    report_.failed(error);
  }

  void fail(const Failure& failure, int grace_ticks) {
    if (failure_) return;
    failure_ = failure;
    grace_ticks_ = grace_ticks;
  }

  void count_tick(const Pulses& pulses) {
    if (grace_ticks_ == 0) kill_all(SIGKILL);
    if (grace_ticks_ != kNever) grace_ticks_--;
    const bool is_meeting_silent = pulses.looks() == looks_;
    meeting_silent_ticks_ = is_meeting_silent && looks_ > 0 ? meeting_silent_ticks_ + 1 : 0;
    looks_ = pulses.looks();
    if (meeting_silent_ticks_ == kSilentTicks) {
      lose(members_.front(),
           with_help(error_at({}, err::rank_lost,
                              fmt::format("the first machine, {}, does not answer any more", meeting_.host)),
                     "look there for why its process ended, and at the network between"),
           kSilentGraceTicks);
    }
    if (is_meeting_silent) return;  // it has told nothing new of anybody
    for (Member& member : members_) listen_to(member, pulses.beats(member.rank));
  }

  void listen_to(Member& member, int64_t beats) {
    // One that has never beaten may still be loading its libraries; the others wait for it as long as `timeout` says. One of
    // ours that said farewell has nothing left to do but to end.
    const bool is_awaited = beats > 0 || (beats == Pulses::kGone && member.pid != 0);
    member.silent_ticks = beats == member.beats && is_awaited ? member.silent_ticks + 1 : 0;
    member.beats = beats;
    if (member.silent_ticks < kSilentTicks || member.is_gone || member.is_ended) return;
    member.is_ended = true;
    const Str who = member.pid == 0 ? fmt::format("rank {}, on another machine,", member.rank)
                                    : fmt::format("rank {}", member.rank);
    if (member.pid != 0) ::kill(member.pid, SIGKILL);
    lose(member,
         with_help(error_at({}, err::rank_lost, fmt::format("{} gave no sign of life for {} s", who, kSilentTicks)),
                   member.pid == 0 ? "its machine or the network is gone"
                                   : "it was stopped, or its machine is out of memory; it has been killed"),
         kSilentGraceTicks);
  }

  static constexpr int kNever = 1 << 30;

  const Team& team_;
  int64_t number_;
  const TeamSignals& signals_;
  const TeamReport& report_;
  Place meeting_;
  std::vector<Member> members_;
  Option<Failure> failure_;
  Option<Error> told_;
  bool has_crashed_ = false;
  int asked_code_ = 0;
  int asked_signal_ = 0;
  Clock::time_point asked_at_;
  int grace_ticks_ = kNever;
  int64_t looks_ = 0;
  int meeting_silent_ticks_ = 0;
};

/// One rank fewer, if so few are enough.
Place without_lost(Place first, int64_t least) {
  if (first.local_size <= least) return first;
  first.local_size--;
  first.world--;
  return first;
}

Str who_begins_again(int64_t ranks, int64_t before) {
  return ranks == before ? "all ranks begin"
                         : fmt::format("{} of {} ranks begin{}", ranks, before, ranks == 1 ? "s" : "");
}

/// What the ranks have told of their run.
RunWords run_of(const Place& first, int64_t attempt) {
  try {
    const Store store = open_store(as_guest(first, attempt), kAnswer_s);
    if (store->check({"run", "resume"})) return {store->get_to_str("run"), store->get_to_str("resume")};
  } catch (const std::exception&) {
    // The first machine knows it.
  }
  return {};
}

}  // namespace

int supervise(Team team, const TeamReport& report) {
  const TeamSignals signals;
  Option<MeetingPoint> meeting;
  if (team.first.serves) meeting.emplace(team.first);
  RunWords run;
  for (int64_t number = 0;; number++) {
    Attempt attempt(team, number, signals, report);
    attempt.run(run.folder);
    if (!attempt.told() && !attempt.may_go_better()) return attempt.exit_code();
    if (const RunWords told = run_of(team.first, number); !told.folder.empty()) run = told;
    const bool is_last = !attempt.may_go_better() || number == team.restarts;
    if (attempt.told() && !run.folder.empty()) report.ended(*attempt.told(), run, attempt.is_first_mute() && is_last);
    if (is_last) return attempt.exit_code();
    const int64_t before = team.first.world;
    if (attempt.told()) team.first = without_lost(team.first, team.least);
    report.note(fmt::format("restart {} of {}: {} again{}", number + 1, team.restarts,
                            who_begins_again(team.first.world, before),
                            run.folder.empty() ? "" : fmt::format(", with {}", run.folder)));
  }
}

void end_with_supervisor() {
  const char* supervisor = std::getenv("LTR_SUPERVISOR");
  if (supervisor == nullptr) supervisor = std::getenv("LTR_SWEEP");  // of a trial
  if (supervisor == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, program_invocation_short_name);  // it was started as `exe`
  // It may have ended before.
  if (std::to_string(::getppid()) != supervisor) ::_exit(1);
}

Str run_to_go_on_with() {
  const char* run = std::getenv(kRunVariable);
  return run == nullptr ? "" : run;
}

bool begins_again() { return std::getenv(kAgainVariable) != nullptr; }

Option<Failure> tell_failure(const Place& place, int exit_code) {
  return failed_before(place, {place.rank, exit_code});
}

void tell_run(const Place& place, const RunWords& run) {
  const Store store = open_store(place, place.join_s);
  store->set("run", run.folder);
  store->set("resume", run.resume);
}

}  // namespace ltr::distributed
