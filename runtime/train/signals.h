#pragma once

// Signals set a flag, nothing else; the trainer looks at it between two windows. Only where nothing can be saved, before
// training and at a second SIGINT, the process ends at once.

#include <csignal>

namespace ltr {

/// What a signal finds. Start: nothing was begun, so the process ends. Gather: nor has this rank begun anything, but others
/// wait for it, which find out together; one that is still at its start ends. Search: a finder looks at the flag, and leaves
/// nothing. Sweep: trials, processes of their own, end. Serve: what waits is answered. Work: the trainer or a pass looks at the
/// flag. End: everything is saved and only reports are missing, so it waits for those. Over: the process is about to end, and
/// what it exits with is known.
enum class SignalPhase : int { Start, Gather, Search, Sweep, Serve, Work, End, Over };

/// Catches SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP (unless `nohup` ignores it) while it lives, and to the end of the process if it
/// goes when that is over. One inside another, as in a `fit` under `ltr::main`, changes nothing.
class SignalWatch {
 public:
  explicit SignalWatch(SignalPhase phase = SignalPhase::Work);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// The signal that came, 0 if none did.
  static int received();
  /// What the process exits with after `signal`: 130 for SIGINT, 75 for the others, 0 for none.
  static int exit_code(int signal);
  static void enter(SignalPhase phase);
  static SignalPhase phase();
  /// One rank of several tells what a signal does; the others are silent.
  static void set_silent(bool is_silent);
  /// Called in the handler when a second SIGINT ends the process: it may only do what is safe there.
  static void set_last_act(void (*act)());

 private:
  struct sigaction before_[5];
  bool is_outermost_;
};

}  // namespace ltr
