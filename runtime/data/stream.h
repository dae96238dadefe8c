#pragma once

// The inside of `ltr::Stream`: a tree of stages over a source. A stream is a pure function of
// (seed, epoch, index), so that order, resume and worker threads cannot change what it delivers.

#include <atomic>
#include <cstddef>
#include <span>

#include "ltr/api.h"

namespace ltr {

/// `size()` of a stream that never ends.
inline constexpr int64_t kEndless = INT64_MAX;

/// Which record is asked for. `ordered` turns shuffling off (`--overfit`).
struct ReadAt {
  int64_t epoch = 0;
  int64_t index = 0;
  uint64_t seed = 0;
  bool ordered = false;
  bool is_unlabelled = false;  ///< a row of `--read` again, with what its prediction does not hang on made up
  uint64_t time = 0;           ///< not 0 for one that comes again in an epoch: random maps draw anew then
};

struct Error;
class StreamState;
/// The record of the source (or window, zip, concat) that a record was made of, wherever it stands in the
/// order: stages that renumber or map do not change it. Random maps and caches are keyed by it.
struct Origin {
  const StreamState* root;
  ReadAt at;
};

class StreamState {
 public:
  explicit StreamState(Schema fields);
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  virtual ~StreamState() = default;

  /// What it delivers. Behind `collate`, dims hold the batch dim too.
  const Schema& schema() const { return schema_; }
  /// Line of the stage, for messages.
  const Location& location() const { return location_; }
  /// Records (batches behind `collate`) of one pass, or kEndless.
  virtual int64_t size() const = 0;
  /// The record at `at`; false if it is left out (`on_bad = skip`).
  virtual bool read(const ReadAt& at, Record& out) const = 0;
  /// The same, each field written to its row as `row_bytes` long bytes. Only if all fields have one.
  virtual bool fill(const ReadAt& at, std::byte* const* rows) const;
  virtual Origin origin(const ReadAt& at) const { return {this, at}; }
  /// The stage that `origin` ends at.
  virtual const StreamState* root() const { return this; }
  /// Whether a record depends on its index alone, not on epoch and seed.
  virtual bool is_fixed() const = 0;
  /// Whether a record depends on its origin alone: `is_fixed` but for the order.
  virtual bool is_pure() const { return is_fixed(); }
  /// File and place of a record, for messages.
  virtual Str name_of(const ReadAt& at) const = 0;
  /// The names of the records that the batch at `at` holds, in its order; of a record its own. Only of what was read:
  /// what a bad record is turns out then.
  virtual std::vector<Str> names_of(const ReadAt& at) const { return {name_of(at)}; }
  /// Whether a record that was read before was left out as a bad one.
  virtual bool is_left_out(const ReadAt&) const { return false; }
  /// Whether its files are gone: it has no records, and nobody may ask how many there were.
  virtual bool is_absent() const { return false; }
  /// R3003 for a record that is known to be bad since its file was opened, unless a stage leaves such out.
  virtual void check() const {}
  /// Stages below: keys the random numbers of this one.
  virtual int depth() const { return 0; }
  /// Lets the outermost pure map keep its results in memory. Called once a loader reads the stream.
  virtual void plan() const {}
  /// So many records at a time will make a batch: `bucket` puts those of like size together.
  virtual void group(int64_t) const {}
  /// Nominal records per batch; 0 in front of `collate`.
  virtual int64_t batch_size() const { return 0; }
  /// Records in batch `index`.
  virtual int64_t batch_samples(int64_t) const { return 0; }
  virtual int64_t vocab() const { return -1; }
  /// The code points that ids stand for, null if it holds no text.
  virtual const std::vector<int32_t>* characters() const { return nullptr; }
  /// The source below; null if there are several.
  virtual const StreamState* source() const { return nullptr; }
  /// Whether a record that a map refuses is left out, of rows from outside: who reads them says what is wrong with each.
  virtual bool leaves_out_refused() const { return false; }
  /// The same maps over `source`, without what picks or orders records. R2006 where there are several sources.
  virtual Stream rebuilt(const Stream& source) const;
  /// What `prefetch` said, -1 if there is no such stage.
  virtual int64_t prefetch() const { return -1; }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  Schema schema_;

 private:
  Location location_;
  std::atomic<int64_t> references_{0};
};

/// A stage over one stream: by default it passes on what it is asked.
class Stage : public StreamState {
 public:
  Stage(Schema fields, const Stream& inner);
  int64_t size() const override { return inner().size(); }
  Str name_of(const ReadAt& at) const override { return inner().name_of(at); }
  std::vector<Str> names_of(const ReadAt& at) const override { return inner().names_of(at); }
  bool is_left_out(const ReadAt& at) const override { return inner().is_left_out(at); }
  void check() const override { inner().check(); }
  bool is_absent() const override { return inner().is_absent(); }
  Origin origin(const ReadAt& at) const override { return inner().origin(at); }
  const StreamState* root() const override { return inner().root(); }
  bool is_fixed() const override { return inner().is_fixed(); }
  bool is_pure() const override { return inner().is_pure(); }
  int depth() const override { return inner().depth() + 1; }
  void plan() const override { inner().plan(); }
  void group(int64_t size) const override { inner().group(size); }
  int64_t batch_size() const override { return inner().batch_size(); }
  int64_t batch_samples(int64_t index) const override { return inner().batch_samples(index); }
  int64_t vocab() const override { return inner().vocab(); }
  const std::vector<int32_t>* characters() const override { return inner().characters(); }
  const StreamState* source() const override { return inner().source(); }
  bool leaves_out_refused() const override { return inner().leaves_out_refused(); }
  int64_t prefetch() const override { return inner().prefetch(); }

 protected:
  const StreamState& inner() const { return *inner_.state(); }
  Stream inner_;
};

/// A stage that only renumbers records.
class IndexStage : public Stage {
 public:
  explicit IndexStage(const Stream& inner);
  /// Where the record at `at` stands in the inner stream.
  virtual ReadAt move(const ReadAt& at) const = 0;
  bool read(const ReadAt& at, Record& out) const override { return inner().read(move(at), out); }
  bool fill(const ReadAt& at, std::byte* const* rows) const override { return inner().fill(move(at), rows); }
  Origin origin(const ReadAt& at) const override { return inner().origin(move(at)); }
  Str name_of(const ReadAt& at) const override { return inner().name_of(move(at)); }
  std::vector<Str> names_of(const ReadAt& at) const override { return inner().names_of(move(at)); }
  bool is_left_out(const ReadAt& at) const override { return inner().is_left_out(move(at)); }
  Stream rebuilt(const Stream& source) const override { return inner().rebuilt(source); }
};

/// The first `n` batches of `stream`, unshuffled, the same in every epoch.
Stream first_batches(const Stream& stream, int64_t n);

/// Reads a record to decide something at start (`filter`, `split(by)`). Nothing for one that is left out, or that
/// cannot be read: who reads the stream later says so.
enum class Early : uint8_t { Good, LeftOut, Bad };
Early read_early(const StreamState& stream, int64_t index, Record& out);

/// Whether `error` blames the record that was read.
bool is_of_record(const Error& error);

/// Whether two streams give the same records: names, types and forms of all fields.
bool same_records(const Schema& a, const Schema& b);

/// Whether `part` goes on over epochs where one pass of several streams takes `records` of it: then the epoch counts, even
/// if each record of the part is fixed.
bool goes_on(const Stream& part, int64_t records);
/// Where `part` is read for a pass of several streams that takes `records` of it. One without end goes on where the epoch
/// before left it; any other begins again, as the epoch of the pass.
ReadAt gone_on(const ReadAt& at, const Stream& part, int64_t records);

/// Refuses a stream that never ends, for stages that need the whole of it.
void need_end(const Stream& stream, const char* stage);

/// `--mock-data`: sources open nothing.
void set_mock_data(bool on);
bool is_mock_data();
/// A stand-in for a source: records of `schema` that nobody may read.
Stream mock_source(Schema schema);
/// Batches from `batch`, of the size and count that `stream` says: floats standard normal, integers 0 or 1.
Stream mock_batches(const Stream& stream, const Schema& batch);

}  // namespace ltr
