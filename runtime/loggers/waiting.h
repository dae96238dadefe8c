#pragma once

// A text file that grows at its end, whose disk may be full for a while: what cannot be written waits in memory.

#include <deque>
#include <functional>
#include <system_error>

#include "ltr/api.h"

namespace ltr::loggers {

/// The write failed, but nothing is lost yet.
struct Waiting : std::system_error {
  using std::system_error::system_error;
};

class WaitingFile {
 public:
  /// `begin`, if given, makes the file what it shall be at first; it is called again until it succeeds. Lines that may be
  /// dropped go once more than `most` bytes wait.
  explicit WaitingFile(Str path, std::function<void()> begin = nullptr, size_t most = size_t(64) << 20)
      : path_(std::move(path)), begin_(std::move(begin)), most_(most) {}
  ~WaitingFile();
  WaitingFile(const WaitingFile&) = delete;
  WaitingFile& operator=(const WaitingFile&) = delete;

  /// Adds a line; all that waits is written first. Throws Waiting if the disk takes nothing, or the file was deleted.
  void append(Str line, bool may_drop);
  /// Replaces the line appended last.
  void replace_last(Str line);
  /// Tries what waits again.
  void flush();
  bool is_waiting() const { return !waiting_.empty(); }
  /// Lines that were dropped since the start.
  int64_t dropped() const { return dropped_; }

 private:
  struct Line {
    Str text;
    bool may_drop;
  };
  /// Opens at the end, which must be the end of a line: what a killed process left of one is cut off.
  void open();
  void write_waiting();
  Str path_;
  std::function<void()> begin_;
  size_t most_;
  int file_ = -1;
  int64_t end_ = 0;   ///< of the file, without what waits
  int64_t last_ = 0;  ///< where the line written last begins
  std::deque<Line> waiting_;
  size_t bytes_ = 0;
  int64_t dropped_ = 0;
};

}  // namespace ltr::loggers
