#pragma once

// Where the values of a run go. The trainer hands plain values to one `Recorder`; its thread writes
// the journal and feeds the loggers. A logger that fails warns once and never stops the run.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doors/png.h"
#include "doors/tfevents.h"
#include "ltr/api.h"

namespace ltr::loggers {

/// Names as written, `train/loss`, with their values.
using NamedValues = std::vector<std::pair<Str, double>>;

/// One sink. All calls come from the logging thread; a failure is an exception, which costs a warning.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger() = default;

  virtual const char* name() const = 0;
  /// Whether it keeps images, histograms and text.
  virtual bool takes_images() const { return false; }
  /// Before anything else: all series that can ever come, `train/loss`, in order of declaration.
  virtual void columns(const std::vector<Str>& names);
  virtual void scalars(int64_t step, int64_t epoch, double time, const NamedValues& values);
  /// Values in wall-clock time (rates, memory): not part of what is deterministic.
  virtual void system(int64_t step, double time, const NamedValues& values);
  virtual void event(int64_t step, double time, const Str& name, const Str& json);
  virtual void image(int64_t step, double time, const Str& tag, const doors::Image& image);
  virtual void histogram(int64_t step, double time, const Str& tag, const doors::Histogram& histogram);
  virtual void text(int64_t step, double time, const Str& tag, const Str& text);
  /// Numbers in rows, of a confusion matrix say, of which `image` has the picture.
  virtual void matrix(int64_t step, double time, const Str& tag, const std::vector<std::vector<double>>& rows);
  virtual void flush();
  virtual void close();
  /// Whether records wait that it could not write: then a call that has nothing to write does not say that it works.
  virtual bool is_waiting() const { return false; }
  /// Records that it gave up although it said that they wait (`Waiting`).
  virtual int64_t dropped() const;
};

/// Tells the user. Any thread may call it.
using Warn = std::function<void(const Str& message)>;

/// What the trainer writes to. Every call only queues, so it costs a few hundred nanoseconds;
/// `flush` waits until all of it is written. Calls after `close` are ignored. Once more than `most_bytes` wait for slow
/// loggers, the oldest values go; how many is said at the end.
class Recorder {
 public:
  explicit Recorder(std::vector<std::unique_ptr<Logger>> loggers, Warn warn = nullptr,
                    size_t most_bytes = size_t(64) << 20);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void columns(std::vector<Str> names);
  void scalars(int64_t step, int64_t epoch, NamedValues values);
  void system(int64_t step, NamedValues values);
  /// `name` is one of start resume checkpoint best stop finish fail note; `json` holds further
  /// members of the record as the inside of an object: `"path":"checkpoints/x"`, or "".
  void event(int64_t step, Str name, Str json = {});
  void image(int64_t step, Str tag, doors::Image image);
  void histogram(int64_t step, Str tag, doors::Histogram histogram);
  void text(int64_t step, Str tag, Str text);
  void matrix(int64_t step, Str tag, std::vector<std::vector<double>> rows);
  void flush();
  void close();
  /// True if some logger besides the journal takes images and histograms (else `samples/` does).
  bool takes_images() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr::loggers
