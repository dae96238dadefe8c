#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/api/crash_stack.h"
#include "runtime/loggers/logger.h"
#include "runtime/loggers/waiting.h"

namespace ltr::loggers {

void Logger::columns(const std::vector<Str>&) {}
void Logger::scalars(int64_t, int64_t, double, const NamedValues&) {}
void Logger::system(int64_t, double, const NamedValues&) {}
void Logger::event(int64_t, double, const Str&, const Str&) {}
void Logger::image(int64_t, double, const Str&, const doors::Image&) {}
void Logger::histogram(int64_t, double, const Str&, const doors::Histogram&) {}
void Logger::text(int64_t, double, const Str&, const Str&) {}
void Logger::matrix(int64_t, double, const Str&, const std::vector<std::vector<double>>&) {}
void Logger::flush() {}
void Logger::close() {}
int64_t Logger::dropped() const { return 0; }

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// A call that waits for the loggers.
struct Item {
  std::function<void(Logger&)> action;
  size_t bytes;
  bool may_drop;
};

/// A logger and how it fares.
struct Sink {
  std::unique_ptr<Logger> logger;
  bool has_failed = false;  ///< its last call did
  bool is_told = false;     ///< that it failed; that it works again is told once, too
  bool is_told_better = false;
  int64_t lost = 0;
  int64_t told_lost = 0;
};

size_t bytes_of(const NamedValues& values) {
  size_t bytes = 0;
  for (const auto& [name, value] : values) bytes += sizeof(values[0]) + name.capacity();
  return bytes;
}

}  // namespace

struct Recorder::Impl {
  void push(std::function<void(Logger&)> action, size_t size = 0, bool may_drop = false) {
    {
      const std::lock_guard lock(mutex);
      if (is_closed) return;
      queue.push_back({std::move(action), size + sizeof(Item), may_drop});
      bytes += queue.back().bytes;
      while (bytes > most_bytes) {
        const auto oldest = std::find_if(queue.begin(), queue.end(), [](const Item& item) { return item.may_drop; });
        if (oldest == queue.end()) break;
        bytes -= oldest->bytes;
        queue.erase(oldest);
        ++dropped;
      }
    }
    has_work.notify_one();
  }

  void run() {
    const CrashStack stack;
    std::unique_lock lock(mutex);
    while (true) {
      has_work.wait(lock, [&] { return !queue.empty() || is_closed; });
      if (queue.empty()) return;
      // One after the other, so that what waits can be counted.
      const Item item = std::move(queue.front());
      queue.pop_front();
      bytes -= item.bytes;
      is_busy = true;
      lock.unlock();
      for (Sink& sink : sinks) call(sink, item);
      lock.lock();
      is_busy = false;
      if (queue.empty()) is_idle.notify_all();
    }
  }

  /// A logger that fails is told of once, and once that it works again.
  void call(Sink& sink, const Item& item) const {
    try {
      item.action(*sink.logger);
      if (sink.logger->is_waiting()) return;
      if (std::exchange(sink.has_failed, false) && !std::exchange(sink.is_told_better, true)) {
        tell(sink, fmt::format("works again{}", lost_text(sink, "; {} records are lost")));
      }
    } catch (const std::exception& error) {
      // What waits in memory is not lost yet.
      if (item.may_drop && dynamic_cast<const Waiting*>(&error) == nullptr) ++sink.lost;
      sink.has_failed = true;
      if (!std::exchange(sink.is_told, true)) tell(sink, fmt::format("failed: {}", error.what()));
    }
  }

  void tell(const Sink& sink, const Str& what) const {
    if (warn) warn(fmt::format("the logger {} {}", sink.logger->name(), what));
  }

  /// `text` with the records lost since the last time that it was said, "" if there are none.
  static Str lost_text(Sink& sink, const char* text) {
    const int64_t lost = sink.lost + sink.logger->dropped();
    const int64_t told = std::exchange(sink.told_lost, lost);
    return lost == told ? "" : fmt::format(fmt::runtime(text), lost);
  }

  /// What is missing in the end, each once.
  void tell_losses() {
    for (Sink& sink : sinks) {
      const Str lost = lost_text(sink, "lost {} records");
      if (!lost.empty())
        tell(sink, lost);
      else if (sink.has_failed)
        tell(sink, "could not write its last records");
    }
    if (dropped > 0 && warn) warn(fmt::format("{} records were dropped: the loggers are slower than the run", dropped));
  }

  std::vector<Sink> sinks;
  Warn warn = nullptr;
  size_t most_bytes = 0;
  std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable is_idle;
  std::deque<Item> queue;
  size_t bytes = 0;
  int64_t dropped = 0;
  bool is_busy = false;
  bool is_closed = false;
  std::thread thread;
};

Recorder::Recorder(std::vector<std::unique_ptr<Logger>> loggers, Warn warn, size_t most_bytes)
    : impl_(std::make_unique<Impl>()) {
  for (std::unique_ptr<Logger>& logger : loggers) impl_->sinks.push_back({.logger = std::move(logger)});
  impl_->warn = std::move(warn);
  impl_->most_bytes = most_bytes;
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Recorder::~Recorder() { close(); }

void Recorder::columns(std::vector<Str> names) {
  impl_->push([names = std::move(names)](Logger& logger) { logger.columns(names); });
}

void Recorder::scalars(int64_t step, int64_t epoch, NamedValues values) {
  const size_t bytes = bytes_of(values);
  impl_->push([step, epoch, time = now(),
               values = std::move(values)](Logger& logger) { logger.scalars(step, epoch, time, values); },
              bytes, true);
}

void Recorder::system(int64_t step, NamedValues values) {
  const size_t bytes = bytes_of(values);
  impl_->push([step, time = now(), values = std::move(values)](Logger& logger) { logger.system(step, time, values); },
              bytes, true);
}

void Recorder::event(int64_t step, Str name, Str json) {
  impl_->push([step, time = now(), name = std::move(name), json = std::move(json)](Logger& logger) {
    logger.event(step, time, name, json);
  });
}

void Recorder::image(int64_t step, Str tag, doors::Image image) {
  const size_t bytes = image.pixels.size();
  impl_->push([step, time = now(), tag = std::move(tag),
               image = std::move(image)](Logger& logger) { logger.image(step, time, tag, image); },
              bytes, true);
}

void Recorder::histogram(int64_t step, Str tag, doors::Histogram histogram) {
  const size_t bytes = 3 * histogram.counts.size() * sizeof(double);
  impl_->push([step, time = now(), tag = std::move(tag),
               histogram = std::move(histogram)](Logger& logger) { logger.histogram(step, time, tag, histogram); },
              bytes, true);
}

void Recorder::matrix(int64_t step, Str tag, std::vector<std::vector<double>> rows) {
  const size_t bytes = rows.empty() ? 0 : rows.size() * rows.front().size() * sizeof(double);
  impl_->push([step, time = now(), tag = std::move(tag),
               rows = std::move(rows)](Logger& logger) { logger.matrix(step, time, tag, rows); },
              bytes, true);
}

void Recorder::text(int64_t step, Str tag, Str text) {
  const size_t bytes = text.size();
  impl_->push([step, time = now(), tag = std::move(tag),
               text = std::move(text)](Logger& logger) { logger.text(step, time, tag, text); },
              bytes, true);
}

void Recorder::flush() {
  impl_->push([](Logger& logger) { logger.flush(); });
  std::unique_lock lock(impl_->mutex);
  impl_->is_idle.wait(lock, [&] { return impl_->is_closed || (impl_->queue.empty() && !impl_->is_busy); });
}

void Recorder::close() {
  if (!impl_->thread.joinable()) return;
  impl_->push([](Logger& logger) { logger.close(); });
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->is_closed = true;
  }
  impl_->has_work.notify_all();
  impl_->thread.join();
  impl_->is_idle.notify_all();
  impl_->tell_losses();
}

bool Recorder::takes_images() const {
  for (const Sink& sink : impl_->sinks) {
    if (sink.logger->takes_images()) return true;
  }
  return false;
}

}  // namespace ltr::loggers
