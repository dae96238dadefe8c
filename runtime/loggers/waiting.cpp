#include "runtime/loggers/waiting.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ltr::loggers {

WaitingFile::~WaitingFile() {
  if (file_ >= 0) ::close(file_);
}

void WaitingFile::open() {
  if (file_ >= 0) return;
  if (begin_) {
    try {
      begin_();
    } catch (const std::system_error& error) {
      throw Waiting(error.code(), path_);
    }
    begin_ = nullptr;
  }
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Waiting(errno, std::generic_category(), path_);
  end_ = ::lseek(file_, 0, SEEK_END);
  char last = '\n';
  while (end_ > 0 && ::pread(file_, &last, 1, end_ - 1) == 1 && last != '\n') --end_;
  static_cast<void>(!::ftruncate(file_, end_));
  last_ = end_;
}

void WaitingFile::append(Str line, bool may_drop) {
  bytes_ += line.size();
  waiting_.push_back({std::move(line), may_drop});
  while (bytes_ > most_) {
    const auto oldest = std::find_if(waiting_.begin(), waiting_.end(), [](const Line& one) { return one.may_drop; });
    if (oldest == waiting_.end()) break;
    bytes_ -= oldest->text.size();
    waiting_.erase(oldest);
    ++dropped_;
  }
  write_waiting();
}

void WaitingFile::replace_last(Str line) {
  if (!waiting_.empty()) {
    bytes_ += line.size() - waiting_.back().text.size();
    waiting_.back().text = std::move(line);
  } else {
    // Nothing waits, so the line on disk is the last one: it is written again in its place.
    end_ = last_;
    bytes_ += line.size();
    waiting_.push_back({std::move(line), false});
  }
  write_waiting();
}

void WaitingFile::flush() { write_waiting(); }

void WaitingFile::write_waiting() {
  open();
  struct stat facts{};
  if (::fstat(file_, &facts) == 0 && facts.st_nlink == 0)
    throw Waiting(ENOENT, std::generic_category(), path_ + " was deleted");
  while (!waiting_.empty()) {
    const Str& text = waiting_.front().text;
    const ssize_t count = ::pwrite(file_, text.data(), text.size(), end_);
    if (count < 0 && errno == EINTR) continue;
    if (count != ssize_t(text.size())) {
      const int reason = count < 0 ? errno : ENOSPC;
      static_cast<void>(!::ftruncate(file_, end_));  // no half line stays
      throw Waiting(reason, std::generic_category(), path_);
    }
    last_ = end_;
    end_ += count;
    bytes_ -= text.size();
    waiting_.pop_front();
  }
  // A line that was replaced may have been longer.
  if (facts.st_size > end_) static_cast<void>(!::ftruncate(file_, end_));
}

}  // namespace ltr::loggers
