#pragma once

// What the trainer tells the terminal. The trainer calls from its own thread and never waits for the answer.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "ltr/api.h"

namespace ltr {

using Scalars = std::span<const std::pair<Str, double>>;

/// Shows how far a verb is. All calls are cheap; an implementation redraws at its own pace.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  virtual ~Progress() = default;

  /// The verb begins. -1: not known.
  virtual void begin(const char* verb, int64_t epochs, int64_t steps) = 0;
  /// An epoch of `batches` batches begins (-1: not known).
  virtual void epoch(int64_t epoch, int64_t batches) = 0;
  /// `batch` batches of the epoch are done (the first call says 1), this one with `samples` samples.
  virtual void batch(int64_t batch, int64_t samples, int64_t global_step) = 0;
  /// How long training has waited for data so far, in seconds of this process; said before each `batch`.
  virtual void waited(double data_s) = 0;
  /// Whether `bar` would show something now; the trainer reads device values only then.
  virtual bool wants_values() = 0;
  /// Values logged with `bar`.
  virtual void bar(Scalars values) = 0;
  /// A pass over the streams of `role` begins: `batches` in all (-1: not known); `round_batch` counts them.
  virtual void round_begin(Role role, int64_t batches) = 0;
  virtual void round_batch(int64_t batch, int64_t samples) = 0;
  /// The round is over, with everything that it logged.
  virtual void round_end(Role role, int64_t epoch, int64_t global_step, Scalars values) = 0;
  /// The epoch is over, with everything logged on epoch by `train`.
  virtual void epoch_end(int64_t epoch, int64_t global_step, Scalars values) = 0;
  virtual void checkpoint(const Str& path) = 0;
  /// A finder has tried `done` of at most `all`; `values` are of the newest.
  virtual void search(const char* finder, int64_t done, int64_t all, Scalars values) = 0;
  /// A `print` of the program.
  virtual void print(const Str& text) = 0;
  virtual void notice(const Str& text) = 0;
  virtual void warning(const Str& text) = 0;
  virtual void end() = 0;
};

/// One that nobody hears.
class Unheard : public Progress {
 public:
  void begin(const char*, int64_t, int64_t) override {}
  void epoch(int64_t, int64_t) override {}
  void batch(int64_t, int64_t, int64_t) override {}
  void waited(double) override {}
  bool wants_values() override { return false; }
  void bar(Scalars) override {}
  void round_begin(Role, int64_t) override {}
  void round_batch(int64_t, int64_t) override {}
  void round_end(Role, int64_t, int64_t, Scalars) override {}
  void epoch_end(int64_t, int64_t, Scalars) override {}
  void checkpoint(const Str&) override {}
  void search(const char*, int64_t, int64_t, Scalars) override {}
  void print(const Str&) override {}
  void notice(const Str&) override {}
  void warning(const Str&) override {}
  void end() override {}
};

}  // namespace ltr
