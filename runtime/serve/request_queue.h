#pragma once

// Requests that wait for the model: some are computed together, in the order in which they came.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "runtime/serve/scoring_request.h"

namespace ltr::serve {

using Clock = std::chrono::steady_clock;

struct Waiting {
  ReadRows rows;
  doors::HttpServer::Reply reply;
  Clock::time_point since = Clock::now();
};

struct QueueRules {
  size_t most = 1024;                         ///< requests that may wait
  size_t batch_rows = 64;                     ///< of requests that are computed together
  std::chrono::duration<double> wait{0.002};  ///< for others, from when the first came
};

class RequestQueue {
 public:
  explicit RequestQueue(QueueRules rules) : rules_(rules) {}

  /// False if it is full or closed: `waiting` is as it was.
  bool put(Waiting& waiting);
  /// The next requests whose rows have the same fields, of so many rows as may be together, or one of more; none if nothing
  /// came within `patience`, or it is closed and empty.
  std::vector<Waiting> take(std::chrono::milliseconds patience);
  /// Takes no more.
  void close();
  size_t size() const;

 private:
  size_t rows_ready() const;

  const QueueRules rules_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  bool is_closed_ = false;
};

}  // namespace ltr::serve
