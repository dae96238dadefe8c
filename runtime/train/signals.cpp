#include "runtime/train/signals.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace ltr {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

constexpr const char* kEndsWork = "\nfinishing this step, then saving; again to stop without saving\n";
constexpr const char* kEndsSearch = "\nending the search, which leaves nothing to save\n";

// Lock-free, so that the handler may use them.
std::atomic<int> received_signal{0};
std::atomic<int64_t> received_ms{0};
std::atomic<SignalPhase> current_phase{SignalPhase::Work};
std::atomic<void (*)()> last_act{nullptr};
std::atomic<bool> is_watched{false};
std::atomic<bool> is_signal_silent{false};

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

void say(const char* text) {
  if (!is_signal_silent) static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
}

int code_of(int signal) { return signal == 0 ? 0 : signal == SIGINT ? 130 : 75; }

void on_signal(int signal) {
  // Launchers deliver one Ctrl-C twice, to the process and to its group: only a later one is a second one.
  constexpr int64_t kSameMs = 300;
  const int64_t now = now_ms();
  const int before = received_signal;
  if (signal == SIGINT && before == SIGINT && now - received_ms < kSameMs) return;
  const SignalPhase phase = current_phase;
  switch (phase) {
    case SignalPhase::Start:
      say("\nstopped before anything was begun: there is nothing to save\n");
      _exit(code_of(signal));
    case SignalPhase::Gather:
    case SignalPhase::Search:
    case SignalPhase::Work:
      if (signal == SIGINT && before == SIGINT) {
        if (phase == SignalPhase::Search) _exit(code_of(signal));
        if (void (*act)() = last_act.load(); act != nullptr && !is_signal_silent) act();
        _exit(1);
      }
      if (signal == SIGINT) say(phase == SignalPhase::Search ? kEndsSearch : kEndsWork);
      received_ms = now;
      received_signal = signal;
      return;
    case SignalPhase::End:
      if (signal == SIGINT) say("\neverything is saved; the last reports are being written\n");
      return;
    case SignalPhase::Over: return;
  }
}

}  // namespace

SignalWatch::SignalWatch(SignalPhase phase) : is_outermost_(!is_watched.exchange(true)) {
  if (!is_outermost_) return;
  received_signal = 0;
  current_phase = phase;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); i++) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    const bool is_nohup = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!is_nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  // Libraries take their time to end, in which a signal would kill a process that has said how its work went.
  if (!is_outermost_ || phase() == SignalPhase::Over) return;
  for (size_t i = 0; i < std::size(kSignals); i++) sigaction(kSignals[i], &before_[i], nullptr);
  is_watched = false;
}

int SignalWatch::received() { return received_signal; }

int SignalWatch::exit_code(int signal) { return code_of(signal); }

void SignalWatch::enter(SignalPhase phase) { current_phase = phase; }

SignalPhase SignalWatch::phase() { return current_phase; }

void SignalWatch::set_silent(bool is_silent) { is_signal_silent = is_silent; }

void SignalWatch::set_last_act(void (*act)()) { last_act = act; }

}  // namespace ltr
