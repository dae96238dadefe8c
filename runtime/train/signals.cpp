#include "runtime/train/signals.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "ltr/first.h"

namespace ltr {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};

constexpr const char* kEndsWork = "\nfinishing this step, then saving; again to stop without saving\n";
constexpr const char* kEndsSearch = "\nending the search, which leaves nothing to save\n";
constexpr const char* kEndsSweep = "\nending the trials under way; the same command goes on with them\n";
constexpr const char* kEndsServing = "\nwhat waits is answered, then it ends; again to end at once\n";

// Launchers deliver one Ctrl-C twice, to the process and to its group: only a later one is a second one.
constexpr int64_t kSameMs = 300;

/// When which signal came, in one word: two threads may be in the handler at once.
struct Received {
  int signal : 8 = 0;
  int64_t ms : 56 = 0;

  bool is_same(const Received& later) const {
    return signal == SIGINT && later.signal == SIGINT && later.ms - ms < kSameMs;
  }
};

// Lock-free, so that the handler may use them, and there before any code runs.
constinit std::atomic<Received> received_signal{};
static_assert(std::atomic<Received>::is_always_lock_free);
constinit std::atomic<SignalPhase> current_phase{SignalPhase::Work};
constinit std::atomic<void (*)()> last_act{nullptr};
constinit std::atomic<bool> is_watched{false};
constinit std::atomic<bool> is_signal_silent{false};

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

void say(const char* text) {
  if (!is_signal_silent) static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
}

/// What happens now, after a first Ctrl-C.
const char* text_of(SignalPhase phase) {
  switch (phase) {
    case SignalPhase::Search: return kEndsSearch;
    case SignalPhase::Sweep: return kEndsSweep;
    case SignalPhase::Serve: return kEndsServing;
    default: return kEndsWork;
  }
}

int code_of(int signal) { return signal == 0 ? 0 : signal == SIGINT ? 130 : 75; }

/// A second Ctrl-C: nothing is saved.
void leave(SignalPhase phase) {
  if (phase == SignalPhase::Search || phase == SignalPhase::Sweep || phase == SignalPhase::Serve)
    _exit(code_of(SIGINT));
  if (void (*act)() = last_act.load(); act != nullptr && !is_signal_silent) act();
  _exit(1);
}

void on_signal(int signal) {
  const Received now{signal, now_ms()};
  Received before = received_signal;
  const SignalPhase phase = current_phase;
  switch (phase) {
    case SignalPhase::Start:
      say("\nstopped before anything was begun: there is nothing to save\n");
      _exit(code_of(signal));
    case SignalPhase::Gather:
    case SignalPhase::Search:
    case SignalPhase::Sweep:
    case SignalPhase::Serve:
    case SignalPhase::Work:
      do {
        if (before.is_same(now)) return;
      } while (!received_signal.compare_exchange_weak(before, now));
      if (signal != SIGINT) return;
      if (before.signal == SIGINT) leave(phase);
      return say(text_of(phase));
    case SignalPhase::End:
      if (signal == SIGINT && !before.is_same(now)) say("\neverything is saved; the last reports are being written\n");
      return;
    case SignalPhase::Over: return;
  }
}

/// Catches `signal` unless `nohup` ignores it; what was there before.
struct sigaction caught(int signal) {
  struct sigaction action = {}, before = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, nullptr, &before);
  const bool is_nohup = signal == SIGHUP && before.sa_handler == SIG_IGN;
  if (!is_nohup) sigaction(signal, &action, nullptr);
  return before;
}

}  // namespace

void catch_signals() {
  current_phase = SignalPhase::Start;
  for (const int signal : kSignals) caught(signal);
}

SignalWatch::SignalWatch(SignalPhase phase) : is_outermost_(!is_watched.exchange(true)) {
  if (!is_outermost_) return;
  received_signal = Received{};
  current_phase = phase;
  for (size_t i = 0; i < std::size(kSignals); i++) before_[i] = caught(kSignals[i]);
}

SignalWatch::~SignalWatch() {
  // Libraries take their time to end, in which a signal would kill a process that has said how its work went.
  if (!is_outermost_ || phase() == SignalPhase::Over) return;
  for (size_t i = 0; i < std::size(kSignals); i++) sigaction(kSignals[i], &before_[i], nullptr);
  is_watched = false;
}

int SignalWatch::received() { return received_signal.load().signal; }

int SignalWatch::exit_code(int signal) { return code_of(signal); }

void SignalWatch::enter(SignalPhase phase) { current_phase = phase; }

SignalPhase SignalWatch::phase() { return current_phase; }

void SignalWatch::set_silent(bool is_silent) { is_signal_silent = is_silent; }

void SignalWatch::set_last_act(void (*act)()) { last_act = act; }

}  // namespace ltr
