#pragma once

// What a process that must end at once still says and writes: a crash (R1009) and a second Ctrl-C (R1010). Everything is
// made ready before; the signal handlers only write it.

#include <functional>

#include "runtime/api/error.h"

namespace ltr::cli {

/// A closed pipe and a limit of file sizes are errors of a write, not deaths; descriptors 0 to 2 are open; from now on
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are R1009 with the `.ltr` line, the stack and the run, then the default
/// action; a second SIGINT is R1010. A device that failed (R1014) refuses to take back its memory, too, which ends the process
/// while the error is on its way, and an exchange over NCCL that another rank left (R1002) ends it from a thread of LibTorch's:
/// both are said then.
void prepare_process();

/// The run that `fit` writes.
struct LastWords {
  Str run;                                         ///< its folder
  Str checkpoints;                                 ///< where its checkpoints are
  Str resume;                                      ///< the command that goes on with it
  Str record_crashed;                              ///< `run.json` after a crash
  Str record_stopped;                              ///< and after a stop without saving
  std::function<Str(const Error&)> record_failed;  ///< and after an error that ends it where it is
};
/// Until the next call; null: there is none any more.
void set_last_words(const LastWords* words);

/// From now on nothing is said of a crash: who waits for this process learns of it by its end.
void crash_silently();

}  // namespace ltr::cli
