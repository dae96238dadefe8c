/* Preloaded into a program under test: counts its file-system events and stops it, or fills its disk, at one of them, so
 * that every instant can be chosen and chosen again. Settings are environment variables:
 *   STOP_AT=N STOP_SIGNAL=S  sends the signal S to the process just before event N
 *   STOP_TEXT=T              or when T is written for the first time, in one piece, to whatever file
 *   FULL_AT=N FULL_FOR=M     events N to N+M-1 that need room fail with ENOSPC (M = 0: all from N on)
 *   SLOW_US=N                every event that needs room takes N microseconds more
 *   FAULT_BELOW=PATH         only events on files whose path holds PATH count (descriptors by what they were opened as)
 *   FAULT_COUNT=FILE         the number of events is written to FILE at exit; of a rank, to FILE.RANK
 *   STOP_RANK=R              only rank R of several is meant, when it is started for the first time; `all`: each of them
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long events;
static long stop_at, full_at, full_for, slow_us;
static int stop_signal = SIGKILL;
static const char *below = "", *count_file, *stop_text;
static char is_ours[4096];

static long number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

/* Whether this process is the one that is meant. */
static int is_meant(void) {
  const char* rank = getenv("STOP_RANK");
  if (rank == NULL) return 1;
  if (getenv("LTR_RANK") == NULL || number("LTR_ATTEMPT") != 0) return 0;
  return strcmp(rank, "all") == 0 || number("LTR_RANK") == number("STOP_RANK");
}

__attribute__((constructor)) static void begin(void) {
  /* Who starts ranks hands the library on to them. */
  if (!is_meant()) return;
  stop_at = number("STOP_AT");
  full_at = number("FULL_AT");
  full_for = number("FULL_FOR");
  slow_us = number("SLOW_US");
  if (number("STOP_SIGNAL") > 0) stop_signal = (int)number("STOP_SIGNAL");
  if (getenv("FAULT_BELOW") != NULL) below = getenv("FAULT_BELOW");
  count_file = getenv("FAULT_COUNT");
  stop_text = getenv("STOP_TEXT");
  is_ours[1] = 1; /* what the program says is an event, too: one a step with --json */
  unsetenv("LD_PRELOAD"); /* the programs that it starts are not under test */
}

__attribute__((destructor)) static void end(void) {
  if (count_file == NULL) return;
  char path[4096];
  const char* rank = getenv("LTR_RANK");
  snprintf(path, sizeof path, rank == NULL ? "%s" : "%s.%s", count_file, rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", (long)events);
  fclose(file);
}

/* Counts one event; 1 if it must fail for want of room. */
static int event(int is_ours_too, int needs_room) {
  if (!is_ours_too) return 0;
  const long n = atomic_fetch_add(&events, 1) + 1;
  if (n == stop_at) kill(getpid(), stop_signal);
  if (needs_room && slow_us > 0) usleep((useconds_t)slow_us);
  return needs_room && full_at > 0 && n >= full_at && (full_for == 0 || n < full_at + full_for);
}

/* Stops the process if this is the text to wait for. */
static void text(const void* data, size_t size) {
  if (stop_text == NULL || memmem(data, size, stop_text, strlen(stop_text)) == NULL) return;
  stop_text = NULL;
  kill(getpid(), stop_signal);
}

static int by_path(const char* path) { return path != NULL && strstr(path, below) != NULL; }

static int by_file(int file) { return file >= 0 && file < (int)sizeof is_ours && is_ours[file]; }

static int full(void) {
  errno = ENOSPC;
  return -1;
}

#define REAL(type, name, ...)                                   \
  static type (*real)(__VA_ARGS__);                             \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name)

static int opened(int file, int is_below) {
  if (file >= 0 && file < (int)sizeof is_ours) is_ours[file] = (char)is_below;
  return file;
}

#define OPEN(name)                                                     \
  int name(const char* path, int flags, ...) {                         \
    REAL(int, #name, const char*, int, ...);                           \
    va_list list;                                                      \
    va_start(list, flags);                                             \
    const int mode = (flags & O_CREAT) != 0 ? va_arg(list, int) : 0;   \
    va_end(list);                                                      \
    if ((flags & O_CREAT) != 0 && event(by_path(path), 1)) return full(); \
    return opened(real(path, flags, mode), by_path(path));             \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                    \
  int name(int folder, const char* path, int flags, ...) {              \
    REAL(int, #name, int, const char*, int, ...);                       \
    va_list list;                                                       \
    va_start(list, flags);                                              \
    const int mode = (flags & O_CREAT) != 0 ? va_arg(list, int) : 0;    \
    va_end(list);                                                       \
    if ((flags & O_CREAT) != 0 && event(by_path(path), 1)) return full(); \
    return opened(real(folder, path, flags, mode), by_path(path));      \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                                   \
  FILE* name(const char* path, const char* mode) {                                    \
    REAL(FILE*, #name, const char*, const char*);                                     \
    if (mode[0] != 'r' && event(by_path(path), 1)) return full(), NULL;               \
    FILE* file = real(path, mode);                                                    \
    if (file != NULL) opened(fileno(file), by_path(path));                            \
    return file;                                                                      \
  }
FOPEN(fopen)
FOPEN(fopen64)

int close(int file) {
  REAL(int, "close", int);
  if (file > 2) opened(file, 0);
  return real(file);
}

ssize_t write(int file, const void* data, size_t size) {
  REAL(ssize_t, "write", int, const void*, size_t);
  text(data, size);
  return event(by_file(file), file > 2) ? full() : real(file, data, size);
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  REAL(size_t, "fwrite", const void*, size_t, size_t, FILE*);
  text(data, size * count);
  return real(data, size, count, file);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec*, int);
  for (int i = 0; i < count; i++) text(parts[i].iov_base, parts[i].iov_len);
  return event(by_file(file), file > 2) ? full() : real(file, parts, count);
}

#define PWRITE(name)                                                        \
  ssize_t name(int file, const void* data, size_t size, off_t offset) {     \
    REAL(ssize_t, #name, int, const void*, size_t, off_t);                  \
    return event(by_file(file), 1) ? full() : real(file, data, size, offset); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

int fsync(int file) {
  REAL(int, "fsync", int);
  return event(by_file(file), 1) ? full() : real(file);
}

int rename(const char* from, const char* to) {
  REAL(int, "rename", const char*, const char*);
  event(by_path(from) || by_path(to), 0);
  return real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  REAL(int, "renameat2", int, const char*, int, const char*, unsigned);
  event(by_path(from) || by_path(to), 0);
  return real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  REAL(int, "mkdir", const char*, mode_t);
  return event(by_path(path), 1) ? full() : real(path, mode);
}

int symlink(const char* target, const char* path) {
  REAL(int, "symlink", const char*, const char*);
  return event(by_path(path), 1) ? full() : real(target, path);
}

#define REMOVE(name)                \
  int name(const char* path) {      \
    REAL(int, #name, const char*);  \
    event(by_path(path), 0);        \
    return real(path);              \
  }
REMOVE(unlink)
REMOVE(rmdir)
REMOVE(remove)

/* Removing a tree: its names are relative, so all of them count. */
int unlinkat(int folder, const char* path, int flags) {
  REAL(int, "unlinkat", int, const char*, int);
  event(1, 0);
  return real(folder, path, flags);
}
