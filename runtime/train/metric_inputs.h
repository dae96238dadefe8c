#pragma once

// Numbers that are not finite on their way into metrics. Most metrics compare or count, and make an ordinary number of a
// nan: so what they are given is looked at where it was computed, and told when the epoch ends.

#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/ranks.h"
#include "runtime/train/trainer.h"

namespace ltr {

class MetricInputs {
 public:
  explicit MetricInputs(const RunRequest& request) : request_(request) {}

  /// The metric `name` is given `input` in batch `batch` of a stream. Waits for no device.
  void look(const Str& name, int64_t stream, int64_t batch, const at::Tensor& input);
  /// The epoch of `role` is over: a sentence for each of its metrics that took in numbers that are not finite on any
  /// rank. All ranks call it. They are forgotten then.
  std::vector<Str> tell(Role role);
  /// Forgets what a round gathered (sanity, or one that was cut off).
  void drop(Role role);
  void visit(Archive& archive);

 private:
  /// A metric of a stream that took in such numbers.
  struct Found {
    Str name;
    int64_t stream = 0;
    int64_t first = 0, newest = 0;  ///< batches, from 0
    int64_t batches = 0;            ///< how many of them
  };
  struct Seen {
    Str name;
    int64_t stream, batch;
  };

  /// Looks at the sums that wait.
  void settle();
  /// Takes what was found in the streams of `role` out of the rest.
  std::vector<Found> taken(Role role);
  static void merge(std::vector<Found>& all, const Found& one);

  const RunRequest& request_;
  std::vector<Found> found_;
  std::vector<Seen> seen_;  ///< whose sums wait in `sums_`
  DeviceValues sums_;
};

}  // namespace ltr
