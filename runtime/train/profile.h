#pragma once

// Where the time of a fit goes, for `--profile`.

#include <array>
#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/api/error.h"

namespace ltr {

/// What a thread did from `begin` to `begin + seconds`, in seconds since the profile began.
struct TraceEvent {
  Str name;
  Location location;  ///< of the program, line 0: of none
  int thread = 0;
  double begin = 0, seconds = 0;
};

/// The parts of training, measured on the thread of the loop. A part that runs inside of another one has its time to itself, but in
/// rounds, checkpoints and planning, which are counted whole: there only one of these others has.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;
  /// `traces`: some steps are kept event by event.
  explicit Profile(bool traces) : traces_(traces) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();

  /// Of this thread; null if nobody asked for one.
  static Profile*& here();

  /// From now on parts are told to it on this thread.
  void start();
  void begin(std::string_view part, bool is_whole);
  void end();
  /// Step `step` begins.
  void begin_step(int64_t step);
  /// Whether what happens now is kept event by event.
  const bool& is_tracing() const { return is_tracing_; }
  double at(Clock::time_point time) const { return std::chrono::duration<double>(time - began_).count(); }

  /// For people: seconds, share, count and mean of each part, the longest first.
  Str text() const;
  /// A trace that Perfetto and chrome://tracing open: the parts of the kept steps, and `more`.
  Str trace(const std::vector<TraceEvent>& more, int rank) const;

  /// Those that a trace has; the first ones plan and warm up.
  static constexpr int64_t kFirstTraced = 10, kLastTraced = 20;

 private:
  struct Row {
    int64_t count = 0;
    double seconds = 0;
  };
  struct Open {
    Row* row = nullptr;
    std::string_view part;
    Clock::time_point begin;
    double inside = 0;  ///< of other parts
    bool is_whole = false;
    bool is_hidden = false;  ///< in one that is counted whole
    bool is_inside_whole() const { return is_whole || is_hidden; }
  };

  bool traces_, is_tracing_ = false;
  Clock::time_point began_ = Clock::now();
  int64_t steps_ = 0;
  std::vector<Open> open_;
  std::map<Str, Row, std::less<>> rows_;
  std::vector<TraceEvent> events_;
};

/// A part of training, while it lives. Costs a look at a pointer where nobody asked.
class ProfilePart {
 public:
  explicit ProfilePart(std::string_view part, bool is_whole = false) : profile_(Profile::here()) {
    if (profile_ != nullptr) [[unlikely]]
      profile_->begin(part, is_whole);
  }
  ~ProfilePart() {
    if (profile_ != nullptr) [[unlikely]]
      profile_->end();
  }
  ProfilePart(const ProfilePart&) = delete;
  ProfilePart& operator=(const ProfilePart&) = delete;

 private:
  Profile* profile_;
};

}  // namespace ltr
