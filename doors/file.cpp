#include "doors/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <zlib.h>

#include "doors/limits.h"

namespace ltr::doors {

FormatError::FormatError(const std::string& path, uint64_t at, const std::string& why)
    : std::runtime_error(path + ": " + placed(at, why)), offset(at), reason(why) {}

std::string FormatError::placed(uint64_t offset, const std::string& reason) {
  return offset == 0 ? reason : "at byte " + std::to_string(offset) + ": " + reason;
}

namespace {

[[noreturn]] void refuse_size(const std::string& path, uint64_t limit, const char* what) {
  throw FormatError(path, limit, std::string(what) + " more than " + std::to_string(limit) + " bytes");
}

/// 0 for what is no file of a known size, such as a pipe.
uint64_t bytes_of(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) ? uint64_t(facts.st_size) : 0;
}

}  // namespace

std::string read_plain_file(const std::string& path, uint64_t limit, uint64_t from) {
  if (bytes_of(path) > limit) refuse_size(path, limit, "the file has");
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr || (from != 0 && ::fseeko(file.get(), off_t(from), SEEK_SET) != 0))
    throw std::system_error(errno, std::generic_category(), path);
  std::string out;
  std::string buffer(1 << 16, '\0');
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    if (out.size() + count > limit) refuse_size(path, limit, "the file has");
    out.append(buffer.data(), count);
  }
  if (std::ferror(file.get()) != 0) throw std::system_error(errno, std::generic_category(), path);
  return out;
}

std::string read_file(const std::string& path) {
  const uint64_t stored = bytes_of(path);
  if (stored > limits::kFileBytes) refuse_size(path, limits::kFileBytes, "the file has");
  const uint64_t inflated =
      std::min(limits::kFileBytes, std::max(limits::kInflateBytes, limits::kInflateRatio * stored));
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (file == nullptr) {
    throw std::system_error(errno != 0 ? errno : ENOMEM, std::generic_category(), path);
  }
  std::string out;
  std::string buffer(1 << 18, '\0');
  while (true) {
    const int count = gzread(file.get(), buffer.data(), unsigned(buffer.size()));
    if (count < 0) {
      int code = 0;
      const char* reason = gzerror(file.get(), &code);
      if (code == Z_ERRNO) throw std::system_error(errno, std::generic_category(), path);
      throw FormatError(path, out.size(), std::string("damaged gzip: ") + reason);
    }
    const bool is_packed = gzdirect(file.get()) == 0;
    if (is_packed && out.size() + size_t(count) > inflated) refuse_size(path, inflated, "unpacked it has");
    if (out.size() + size_t(count) > limits::kFileBytes) refuse_size(path, limits::kFileBytes, "the file has");
    out.append(buffer.data(), size_t(count));
    if (count < int(buffer.size())) break;
  }
  // A file cut off in mid-stream reads as short, and only the final check says so.
  int code = 0;
  const char* reason = gzerror(file.get(), &code);
  if (code == Z_BUF_ERROR) throw FormatError(path, out.size(), std::string("gzip ends early: ") + reason);
  return out;
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp-" + std::to_string(::getpid());
  const auto fail = [&](int file) {
    const int reason = errno;
    if (file >= 0) ::close(file);
    ::unlink(temporary.c_str());
    throw std::system_error(reason, std::generic_category(), path);
  };
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(file);
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) fail(file);
    if (count > 0) text.remove_prefix(size_t(count));
  }
  if (::fsync(file) != 0 || ::close(file) != 0) fail(-1);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(-1);
}

int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EAGAIN) {
      pollfd room{file, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(size_t(count));
  }
  return 0;
}

}  // namespace ltr::doors
