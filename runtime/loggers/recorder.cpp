#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/loggers/logger.h"

namespace ltr::loggers {

void Logger::columns(const std::vector<Str>&) {}
void Logger::scalars(int64_t, int64_t, double, const NamedValues&) {}
void Logger::system(int64_t, double, const NamedValues&) {}
void Logger::event(int64_t, double, const Str&, const Str&) {}
void Logger::image(int64_t, double, const Str&, const doors::Image&) {}
void Logger::histogram(int64_t, double, const Str&, const std::vector<double>&) {}
void Logger::text(int64_t, double, const Str&, const Str&) {}
void Logger::flush() {}
void Logger::close() {}

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

using Action = std::function<void(Logger&)>;

/// A logger and whether its last call failed.
struct Sink {
  std::unique_ptr<Logger> logger;
  bool has_failed = false;
  int64_t lost = 0;
};

}  // namespace

struct Recorder::Impl {
  void push(Action action) {
    {
      const std::lock_guard lock(mutex);
      if (is_closed) return;
      queue.push_back(std::move(action));
    }
    has_work.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      has_work.wait(lock, [&] { return !queue.empty() || is_closed; });
      if (queue.empty()) return;
      std::deque<Action> batch;
      batch.swap(queue);
      is_busy = true;
      lock.unlock();
      for (const Action& action : batch) {
        for (Sink& sink : sinks) call(sink, action);
      }
      lock.lock();
      is_busy = false;
      is_idle.notify_all();
    }
  }

  /// A logger that fails warns once; when it works again, that is said too.
  void call(Sink& sink, const Action& action) const {
    try {
      action(*sink.logger);
    } catch (const std::exception& error) {
      ++sink.lost;
      if (!sink.has_failed && warn) warn(Str("the logger ") + sink.logger->name() + " failed: " + error.what());
      sink.has_failed = true;
      return;
    }
    if (sink.has_failed && warn) {
      warn(Str("the logger ") + sink.logger->name() + " works again; " + std::to_string(sink.lost) +
           " records are lost");
    }
    sink.has_failed = false;
    sink.lost = 0;
  }

  std::vector<Sink> sinks;
  Warn warn = nullptr;
  std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable is_idle;
  std::deque<Action> queue;
  bool is_busy = false;
  bool is_closed = false;
  std::thread thread;
};

Recorder::Recorder(std::vector<std::unique_ptr<Logger>> loggers, Warn warn) : impl_(std::make_unique<Impl>()) {
  for (std::unique_ptr<Logger>& logger : loggers) impl_->sinks.push_back({std::move(logger), false, 0});
  impl_->warn = std::move(warn);
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Recorder::~Recorder() {
  close();
}

void Recorder::columns(std::vector<Str> names) {
  impl_->push([names = std::move(names)](Logger& logger) { logger.columns(names); });
}

void Recorder::scalars(int64_t step, int64_t epoch, NamedValues values) {
  impl_->push([step, epoch, time = now(), values = std::move(values)](Logger& logger) {
    logger.scalars(step, epoch, time, values);
  });
}

void Recorder::system(int64_t step, NamedValues values) {
  impl_->push([step, time = now(), values = std::move(values)](Logger& logger) { logger.system(step, time, values); });
}

void Recorder::event(int64_t step, Str name, Str json) {
  impl_->push([step, time = now(), name = std::move(name), json = std::move(json)](Logger& logger) {
    logger.event(step, time, name, json);
  });
}

void Recorder::image(int64_t step, Str tag, doors::Image image) {
  impl_->push([step, time = now(), tag = std::move(tag), image = std::move(image)](Logger& logger) {
    logger.image(step, time, tag, image);
  });
}

void Recorder::histogram(int64_t step, Str tag, std::vector<double> values) {
  impl_->push([step, time = now(), tag = std::move(tag), values = std::move(values)](Logger& logger) {
    logger.histogram(step, time, tag, values);
  });
}

void Recorder::text(int64_t step, Str tag, Str text) {
  impl_->push([step, time = now(), tag = std::move(tag), text = std::move(text)](Logger& logger) {
    logger.text(step, time, tag, text);
  });
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
}

bool Recorder::takes_images() const {
  for (const Sink& sink : impl_->sinks) {
    if (sink.logger->takes_images()) return true;
  }
  return false;
}

}  // namespace ltr::loggers
