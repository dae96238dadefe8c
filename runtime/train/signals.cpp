#include "runtime/train/signals.h"

#include <unistd.h>

namespace ltr {

namespace {

volatile std::sig_atomic_t received_signal = 0;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

void on_signal(int signal) {
  if (signal == SIGINT && received_signal == SIGINT) {
    constexpr char kText[] = "\nstopped without saving (R1010); the last checkpoint is checkpoints/last\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
    _exit(1);
  }
  if (signal == SIGINT) {
    constexpr char kText[] = "\nfinishing this step, then saving; again to stop without saving\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
  }
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
