#pragma once

// Signals set a flag, nothing else; the trainer looks at it between two windows.

#include <csignal>

namespace ltr {

/// Catches SIGINT, SIGTERM, SIGUSR1 and SIGHUP while it lives. A second SIGINT ends the process at once.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// The signal that came, 0 if none did.
  static int received();

 private:
  struct sigaction before_[4];
};

}  // namespace ltr
