#include "runtime/cli/last_words.h"

#include <c10/util/Exception.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "runtime/api/crash_stack.h"
#include "runtime/api/error.h"
#include "runtime/api/process_end.h"
#include "runtime/cli/terminal.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

struct Crash {
  int signal;
  const char* name;
  const char* what;
};
constexpr Crash kCrashes[] = {{SIGSEGV, "SIGSEGV", "a bad address was used"},
                              {SIGBUS, "SIGBUS", "a file ended, or memory failed, under a mapped address"},
                              {SIGFPE, "SIGFPE", "an integer was divided by zero"},
                              {SIGILL, "SIGILL", "this processor does not know an instruction"},
                              {SIGABRT, "SIGABRT", "the program gave up"}};

// Handlers read what is pointed at; two take turns, so that what one may be reading stays.
LastWords kept[2];
std::atomic<const LastWords*> current{nullptr};

/// Text put together and written without memory being allocated: all that a handler may do.
class Message {
 public:
  Message& operator<<(const char* text) {
    const size_t size = std::min(std::strlen(text), sizeof text_ - size_);
    std::memcpy(text_ + size_, text, size);
    size_ += size;
    return *this;
  }
  Message& operator<<(int32_t number) {
    char digits[16];
    size_t first = sizeof digits;
    digits[--first] = '\0';
    for (uint32_t rest = number > 0 ? uint32_t(number) : 0; rest > 0 || first == sizeof digits - 1; rest /= 10)
      digits[--first] = char('0' + rest % 10);
    return *this << digits + first;
  }
  void write_to(int file) const {
    if (file >= 0) static_cast<void>(!::write(file, text_, size_));
  }

 private:
  char text_[8192];
  size_t size_ = 0;
};

/// A path in memory that was there before.
class Path {
 public:
  Path(const Str& folder, const char* name) {
    const size_t size = std::strlen(name);
    if (folder.size() + size >= sizeof text_) return;
    std::memcpy(text_, folder.c_str(), folder.size());
    std::memcpy(text_ + folder.size(), name, size + 1);
  }
  operator const char*() const { return text_; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[4096] = "";
};

/// Replaces `run.json`, as `write_file_atomically` does.
void write_record(const LastWords& words, const Str& record) {
  const Path temporary(words.run, "/run.json.tmp-last");
  const int file = ::open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  const bool is_whole = ::write(file, record.data(), record.size()) == ssize_t(record.size());
  ::close(file);
  if (!is_whole || ::rename(temporary, Path(words.run, "/run.json")) != 0) ::unlink(temporary);
}

/// The name of the checkpoint that `last` points at, "" if there is none.
const char* last_checkpoint(const LastWords& words, char (&name)[4096]) {
  const Path link(words.checkpoints, "/last");
  const ssize_t size = ::readlink(link, name, sizeof name - 1);
  name[size > 0 && ::access(link, F_OK) == 0 ? size : 0] = '\0';
  return name;
}

void say(const Message& message) {
  message.write_to(STDERR_FILENO);
  message.write_to(copy_file());
}

void stopped_without_saving() {
  // Another thread may have one, too: the terminal's for all of a group comes beside the one that is passed on.
  static std::atomic_flag is_told;
  while (is_told.test_and_set()) ::pause();
  const LastWords* words = current.load();
  Message message;
  message << "\nerror[R1010]: stopped without saving; ";
  char name[4096] = "";
  const char* checkpoint = words == nullptr ? "" : last_checkpoint(*words, name);
  if (checkpoint[0] == '\0') {
    message << "there is no checkpoint yet\n";
  } else {
    message << "the last checkpoint is " << words->checkpoints.c_str() << "/" << checkpoint
            << "\n  = help: go on with:  " << words->resume.c_str() << "\n";
  }
  say(message);
  if (words != nullptr) write_record(*words, words->record_stopped);
}

void on_crash(int signal) {
  // The first thread that crashes tells; the process ends before another one would.
  static std::atomic_flag is_told;
  while (is_told.test_and_set()) ::pause();
  Message message;
  message << "\nerror[R1009]: crashed by ";
  for (const Crash& crash : kCrashes) {
    if (crash.signal == signal) message << crash.name << ": " << crash.what;
  }
  const Location& here = current_location();
  if (here.line > 0) message << "\n  --> " << here.file << ":" << here.line << ":" << here.column;
  message << "\n  stack:\n";
  say(message);
  void* frames[32];
  constexpr int kOwn = 2;  // this function, and what the kernel put in front of it
  const int count = ::backtrace(frames, int(std::size(frames)));
  for (const int file : {STDERR_FILENO, copy_file()}) {
    if (file >= 0 && count > kOwn) ::backtrace_symbols_fd(frames + kOwn, count - kOwn, file);
  }
  if (const LastWords* words = current.load()) {
    write_record(*words, words->record_crashed);
    Message help;
    help << "  = help: the run is " << words->run.c_str() << "; go on with:  " << words->resume.c_str() << "\n";
    say(help);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// The error that nobody can catch, if it is one of those that are known to end a process.
Option<Error> fatal_error(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return std::nullopt;
  try {
    std::rethrow_exception(thrown);
  } catch (const c10::DistError& error) {
    const Str text = error.what_without_backtrace();
    return error_at({}, err::rank_lost, "it left an exchange over NCCL: " + text.substr(0, text.find('\n')));
  } catch (const c10::AcceleratorError&) {
    try {
      guarded([&] { std::rethrow_exception(thrown); });
    } catch (const Error& error) {
      return error;
    }
  } catch (...) {
  }
  return std::nullopt;
}

/// In place of a crash, where it is one of those.
void on_terminate() {
  const Option<Error> error = fatal_error(std::current_exception());
  if (!error) std::abort();
  Message message;
  message << "\n" << error->what() << "\n";
  if (!error->help.empty()) message << "  = help: " << error->help.c_str() << "\n";
  const LastWords* words = current.load();
  char name[4096] = "";
  if (words != nullptr && last_checkpoint(*words, name)[0] != '\0')
    message << "go on with:  " << words->resume.c_str() << "\n";
  say(message);
  if (words != nullptr) write_record(*words, words->record_failed(*error));
  std::fflush(nullptr);
  ::_exit(error->exit_code());
}

/// Descriptors 0 to 2 that nobody opened: a file of the run would get one of them, and what is printed would go there.
void open_standard_files() {
  for (int file = 0; file <= 2; ++file) {
    // For reading alone: writing to it fails, as it does to one that is closed.
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF) static_cast<void>(!::open("/dev/null", O_RDONLY));
  }
}

}  // namespace

void prepare_process() {
  end_before_libraries();
  open_standard_files();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  SignalWatch::set_last_act(stopped_without_saving);
  static const CrashStack kMain;
  std::set_terminate(on_terminate);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // the first call loads a library, which a handler must not
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const Crash& crash : kCrashes) ::sigaction(crash.signal, &action, nullptr);
}

void crash_silently() {
  for (const Crash& crash : kCrashes) ::signal(crash.signal, SIG_DFL);
}

void set_last_words(const LastWords* words) {
  if (words == nullptr) {
    current = nullptr;
    return;
  }
  LastWords& next = current.load() == &kept[0] ? kept[1] : kept[0];
  next = *words;
  current = &next;
}

}  // namespace ltr::cli
