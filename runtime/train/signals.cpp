#include "runtime/train/signals.h"

#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace ltr {

namespace {

volatile std::sig_atomic_t received_signal = 0;
volatile int64_t received_ms = 0;

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

void on_signal(int signal) {
  // Launchers deliver one Ctrl-C twice, to the process and to its group: only a later one is a second one.
  constexpr int64_t kSameMs = 300;
  const int64_t now = now_ms();
  if (signal == SIGINT && received_signal == SIGINT && now - received_ms < kSameMs) return;
  if (signal == SIGINT && received_signal == SIGINT) {
    constexpr char kText[] = "\nstopped without saving (R1010); the last checkpoint is checkpoints/last\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
    _exit(1);
  }
  if (signal == SIGINT) {
    constexpr char kText[] = "\nfinishing this step, then saving; again to stop without saving\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
  }
  received_ms = now;
  received_signal = signal;
}

}  // namespace

SignalWatch::SignalWatch() {
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < 4; i++) sigaction(kSignals[i], &action, &before_[i]);
}

SignalWatch::~SignalWatch() {
  for (size_t i = 0; i < 4; i++) sigaction(kSignals[i], &before_[i], nullptr);
}

int SignalWatch::received() { return received_signal; }

}  // namespace ltr
