#pragma once

// Where the trainer's batches come from: data::Loader, or a fake.

#include <memory>

#include "runtime/api/error.h"
#include "runtime/data/left_out.h"
#include "runtime/train/trainer.h"

namespace ltr {

namespace data {
struct LoaderOptions;
}

class Feed {
 public:
  Feed() = default;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  virtual ~Feed() = default;

  virtual int64_t batches(int64_t epoch) = 0;
  /// Samples in a batch, without reading it.
  virtual int64_t batch_samples(int64_t epoch, int64_t batch) = 0;
  /// The same of the batch that `rank` has at that turn, 0 if it has none.
  virtual int64_t batch_samples_of(int64_t, int64_t epoch, int64_t batch) { return batch_samples(epoch, batch); }
  virtual int64_t batch_size() = 0;
  virtual bool is_endless() { return false; }
  /// `epoch` begins behind so many batches of all ranks, which others than these have done.
  virtual void begin_behind(int64_t, int64_t) {}
  /// The run goes on until there were so many epochs, -1: without end; of the next one batches may be read ahead.
  virtual void read_ahead_to(int64_t) {}
  virtual void start(int64_t epoch, int64_t first_batch) = 0;
  virtual bool next(Batch& batch) = 0;
  /// Waits until as many batches lie ready as ever do.
  virtual void fill() {}
  /// The number in its epoch of the batch that `next` gave: those without a good record are passed over.
  virtual int64_t number() = 0;
  virtual double waited_s() = 0;
  /// Names of the records of a batch, for messages: `iris.csv:37`. Empty if they have none.
  virtual std::vector<Str> records(int64_t, int64_t) { return {}; }
  /// What was left out of the batches that `next` gave, since it was asked last.
  virtual std::vector<LeftOut> take_left_out() { return {}; }
};

/// Runs what computes with batch `batch` of `feed`. An error that blames a sample of it says which record that is.
template <class Body>
void blaming(Feed& feed, int64_t epoch, int64_t batch, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    const std::vector<Str> names = error.sample >= 0 ? feed.records(epoch, batch) : std::vector<Str>();
    if (error.sample < 0 || error.sample >= int64_t(names.size())) throw;
    throw Error(error.code, names[size_t(error.sample)] + ": " + error.message, error.location, error.help);
  }
}

/// How stream `stream` is read: what the settings say of its role.
data::LoaderOptions loader_options(const Data& data, size_t stream, const TrainerSettings& settings);
/// The same for who reads it: with the threads of the run, and this rank's share.
data::LoaderOptions loader_options(const RunRequest& request, size_t stream);

/// The feed of stream `stream` as the request says. `batches`: at most so many, -1: as the role's limit says.
std::unique_ptr<Feed> make_feed(const RunRequest& request, size_t stream, int64_t batches = -1);

/// Indices in `Data::streams` of a role's streams.
std::vector<size_t> streams_of(const Data& data, Role role);
const char* role_name(Role role);
/// `val`, or `val.clean` if the role has several streams.
Str stream_name(const Data& data, size_t stream);

}  // namespace ltr
