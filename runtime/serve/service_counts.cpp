#include "runtime/serve/service_counts.h"

#include <algorithm>

#include <fmt/format.h>

namespace ltr::serve {

void ServiceCounts::answered(int status, double seconds) {
  const std::lock_guard lock(mutex_);
  requests_[status]++;
  request_s_ += seconds;
  buckets_[size_t(std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin())]++;
}

void ServiceCounts::computed(size_t rows, double seconds) {
  const std::lock_guard lock(mutex_);
  batches_++;
  rows_ += int64_t(rows);
  batch_s_ += seconds;
}

Str ServiceCounts::text(size_t waiting) const {
  const std::lock_guard lock(mutex_);
  Str out;
  const auto head = [&](const char* name, const char* type, const char* help) {
    out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  };
  const auto one = [&](const char* name, const char* type, const char* help, const auto& value) {
    head(name, type, help);
    out += fmt::format("{} {}\n", name, value);
  };
  head("ltr_requests_total", "counter", "Requests for predictions, by the status of the answer.");
  for (const auto& [status, count] : requests_)
    out += fmt::format("ltr_requests_total{{status=\"{}\"}} {}\n", status, count);
  head("ltr_request_seconds", "histogram", "From when a request was read to its answer.");
  int64_t sum = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    sum += buckets_[i];
    out += fmt::format("ltr_request_seconds_bucket{{le=\"{}\"}} {}\n", kBounds[i], sum);
  }
  sum += buckets_.back();
  out += fmt::format(
      "ltr_request_seconds_bucket{{le=\"+Inf\"}} {}\nltr_request_seconds_sum {}\nltr_request_seconds_count {}\n", sum,
      request_s_, sum);
  one("ltr_batches_total", "counter", "Batches that were computed, each of one or more requests.", batches_);
  one("ltr_rows_total", "counter", "Rows in them.", rows_);
  one("ltr_batch_seconds_total", "counter", "The time that they took.", batch_s_);
  one("ltr_requests_waiting", "gauge", "Requests that wait for the model.", waiting);
  return out;
}

}  // namespace ltr::serve
