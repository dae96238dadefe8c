#pragma once

// Reads a stream batch by batch, in worker threads, in order. What it delivers does not depend on
// the number of workers: every batch is a pure function of (seed, epoch, batch number).

#include <memory>

#include "ltr/api.h"
#include "runtime/data/left_out.h"

namespace ltr::data {

/// How much of a pass is used. `{}` is all of it.
struct Limit {
  int64_t batches = -1;   ///< at most so many batches; negative: all
  double fraction = 1.0;  ///< this part of them, rounded down, at least one
};

struct LoaderOptions {
  Schema batch;                  ///< `Data::batch`: order and types of `Batch::fields`
  Location location;             ///< of the stream, for messages
  Str name;                      ///< `train`, `val.clean`, for messages
  int workers = 0;               ///< threads; 0 reads in `next`
  int prefetch = 2;              ///< batches that may be ready ahead, beyond one per worker
  uint64_t seed = 0;             ///< of the run: keys random maps
  Limit limit;                   ///< batches of an epoch
  int64_t steps_per_epoch = -1;  ///< batches of an epoch of an endless stream, which goes on over epochs
  int64_t rank = 0;              ///< of the process: of every `world` batches it reads one
  int64_t world = 1;
  bool is_even = false;  ///< all ranks read equally many: one that has none at a turn gets a stand-in
  int64_t overfit = 0;   ///< the first N batches, unshuffled, in every epoch; 0 is off
  bool mock = false;     ///< batches made up from `batch`, as many and as large as the stream's
};

/// A stream being read. One thread uses a loader; it owns its workers, which live as long as it.
/// Nothing starts before `start`; errors of workers come out of `next`, after the batches before them.
class Loader {
 public:
  Loader(const Stream& stream, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  bool is_endless() const;
  /// Batches that `epoch` delivers, after limits; R3005 if there are none.
  int64_t batches(int64_t epoch) const;
  /// Records of one pass, after limits and `drop_last`; what `describe` and the report say.
  int64_t samples() const;
  /// Records in batch `number` (nominal: skipped bad records are not counted), without reading it; 0 for a stand-in.
  int64_t batch_samples(int64_t epoch, int64_t number) const { return batch_samples(epoch, number, own_rank()); }
  /// The same of another rank's batch at that turn.
  int64_t batch_samples(int64_t epoch, int64_t number, int64_t rank) const;
  /// The nominal batch size, what `collate` was given.
  int64_t batch_size() const;

  /// File and place of each record of batch `number`, in the order of its samples. The batch must have been read: which
  /// of its records are bad is known then. Costs nothing until it is asked.
  std::vector<Str> names_of(int64_t epoch, int64_t number) const;

  /// `epoch` begins behind so many batches of all ranks.
  void begin_behind(int64_t epoch, int64_t batches);
  /// Epochs follow one another until there were so many, -1: without end. Where `start` begins the one behind that which was given
  /// whole, its first batches were read meanwhile.
  void read_ahead_to(int64_t epochs);
  /// The next `next` gives batch `first_batch` of `epoch`. Stops what was under way.
  void start(int64_t epoch, int64_t first_batch = 0);
  /// False at the end of the epoch.
  bool next(Batch& batch);
  /// Waits until as many batches are ready as may be, so that what they take of memory is taken.
  void fill();
  /// The number of the batch that `next` gave last.
  int64_t number() const;
  /// Seconds that `next` waited in all.
  double waited_s() const;
  /// What `on_bad = skip` left out of the batches that `next` gave, since it was asked last.
  std::vector<LeftOut> take_left_out();

 private:
  int64_t own_rank() const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr::data
