#include "ltrc/output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "doors/file.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

namespace {

int output_error = 0;

/// Takes everything, so that no command ends in the middle, with a code that hangs on when its reader went away.
ssize_t put(void* /*cookie*/, const char* bytes, size_t count) {
  if (output_error == 0) output_error = doors::write_all(STDOUT_FILENO, {bytes, count});
  return ssize_t(count);
}

/// The same of messages: of a reader that went away, as `head` does, nobody can be told.
ssize_t put_message(void* /*cookie*/, const char* bytes, size_t count) {
  static_cast<void>(doors::write_all(STDERR_FILENO, {bytes, count}));
  return ssize_t(count);
}

FILE* open_output(cookie_write_function_t* put_all, int buffering) {
  cookie_io_functions_t functions{};
  functions.write = put_all;
  FILE* const output = fopencookie(nullptr, "w", functions);
  if (output != nullptr) std::setvbuf(output, nullptr, buffering, BUFSIZ);
  return output;
}

}  // namespace

void watch_output() {
  std::signal(SIGPIPE, SIG_IGN);
  if (FILE* const output = open_output(put, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF)) stdout = output;
  if (FILE* const messages = open_output(put_message, _IOLBF)) stderr = messages;
}

int end_output(int code) {
  std::fflush(stdout);
  if (output_error == 0 || output_error == EPIPE) return code;
  fmt::print(stderr, "error: cannot write standard output: {}\n", std::strerror(output_error));
  return code == kOk ? kErrors : code;
}

}  // namespace ltr::driver
