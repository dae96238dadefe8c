#pragma once

// What a program does before there is a `main`.

#include "ltr/api.h"

namespace ltr {

/// Gives signals their handlers.
LTR_EXPORT void catch_signals();

}  // namespace ltr

/// Stands in front of `main`: from where the system has put the libraries into memory, and before they start up, which takes its
/// time, a signal ends the program as one that comes later.
#define LTR_CATCH_SIGNALS \
  __attribute__((section(".preinit_array"), used)) static void (*ltr_first_call)() = ltr::catch_signals;
