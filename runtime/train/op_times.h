#pragma once

// What LibTorch's operations take while a step runs op by op, for `--profile`.

#include <map>
#include <memory>
#include <utility>

#include "runtime/train/profile.h"

namespace ltr {

/// Seconds of the host by operation and line of the program; those that another one calls are part of it. On a device it is the time of
/// queueing them.
class OpTimes {
 public:
  explicit OpTimes(const Profile& profile) : profile_(profile) {}

  /// Listens on this thread while it lives.
  class Scope {
   public:
    explicit Scope(OpTimes* times);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Callback;
    std::unique_ptr<Callback> callback_;
  };

  /// For people: the longest first; "" where nothing ran.
  Str text() const;
  const std::vector<TraceEvent>& events() const { return events_; }
  void add(const char* name, const Location& location, Profile::Clock::time_point begin);

 private:
  struct Row {
    int64_t count = 0;
    double seconds = 0;
  };
  const Profile& profile_;
  std::map<std::pair<Str, Str>, Row> rows_;  ///< by line and name
  std::vector<TraceEvent> events_;
};

}  // namespace ltr
