#include "runtime/distributed/team_signals.h"

#include <ctime>

namespace ltr::distributed {

TeamSignals::TeamSignals() {
  // Where whoever started this process ignores it, the kernel would tell nobody how a rank ended.
  ::signal(SIGCHLD, SIG_DFL);
  sigemptyset(&waited_);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGCHLD}) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    // What `nohup` ignores is still ignored.
    if (number != SIGHUP || action.sa_handler != SIG_IGN) sigaddset(&waited_, number);
  }
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
}

TeamSignals::~TeamSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Option<Signal> TeamSignals::wait(std::chrono::milliseconds patience) const {
  const timespec limit{patience.count() / 1000, patience.count() % 1000 * 1000000};
  siginfo_t info = {};
  if (sigtimedwait(&waited_, &info, &limit) < 0) return std::nullopt;
  return Signal{info.si_signo, info.si_code == SI_KERNEL};
}

}  // namespace ltr::distributed
