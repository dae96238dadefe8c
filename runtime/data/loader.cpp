#include "runtime/data/loader.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>

#include "runtime/api/crash_stack.h"
#include "runtime/api/error.h"
#include "runtime/data/rows.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/parallel.h"
#include "runtime/tensor/precision.h"

namespace ltr::data {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// So much may be read ahead of small batches: waking a thread for each would cost more than the batch.
constexpr int64_t kBytesAhead = int64_t(1) << 20;
constexpr int64_t kMostAhead = 64;
/// Who waits for small batches is woken for so many, or after so long. Woken for each, on a core that it shares with the worker, the
/// two would go on in turns for ever.
constexpr int64_t kWorthWaking = 16;
constexpr std::chrono::microseconds kPatience{200};

int64_t bytes_of(const Batch& batch) {
  int64_t bytes = 1;
  for (const Tensor& field : batch.fields) {
    if (field.defined()) bytes += int64_t(In(field)->nbytes());
  }
  return bytes;
}

/// One batch on its way from a worker to `next`.
struct Slot {
  bool is_ready = false;
  bool is_empty = false;  ///< every record of it was left out
  Batch batch;
  Option<Error> misfit;  ///< what differs from the data's batch; told of the first one
  std::vector<LeftOut> left_out;
  std::exception_ptr error;
};

/// Where a device copies from while the host goes on.
void pin(Batch& batch) {
  if (accelerator() == nullptr) return;
  for (Tensor& field : batch.fields) {
    if (field.defined()) field = give(host_memory(In(field)->sizes(), In(field)->scalar_type()).copy_(In(field)));
  }
}

}  // namespace

struct Loader::Impl {
  Impl(const Stream& stream, LoaderOptions options);
  ~Impl();

  int64_t count(int64_t epoch) const;
  int64_t begun_in(int64_t of_epoch) const { return of_epoch == begun_epoch ? begun : 0; }
  int64_t of_all(int64_t of_epoch, int64_t number, int64_t rank) const {
    return begun_in(of_epoch) + number * options.world + rank;
  }
  bool is_stand_in(int64_t epoch, int64_t number, int64_t rank) const;
  ReadAt place_of(int64_t epoch, int64_t number) const;
  Slot read(int64_t epoch, int64_t number) const;
  bool read_fields(int64_t epoch, int64_t number, Batch& batch) const;
  bool read_or_stand_in(ReadAt place, Record& record, Batch& batch) const;
  Option<Error> misfit_of(const Batch& batch) const;
  void narrow(Batch& batch) const;
  void start_workers();
  void work();
  void look_ahead(const Batch& first);
  void begin(int64_t epoch, int64_t first);
  bool goes_on(int64_t epoch, int64_t first) const;
  /// Batches of the epoch behind `epoch` that may be read while that one is given.
  int64_t following(int64_t of_epoch) const { return epochs < 0 || of_epoch + 1 < epochs ? count(of_epoch + 1) : 0; }
  bool next(Batch& batch);
  Slot take();
  void fill();
  bool may_claim() const { return claimed < beyond && claimed < position + ahead; }
  /// Of a batch that was just read.
  bool is_worth_waking() const {
    return waits_since &&
           (!may_claim() || claimed - position >= kWorthWaking || Clock::now() - *waits_since > kPatience);
  }
  void give_left_out(std::vector<LeftOut> found) {
    left_out.insert(left_out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }

  Stream stream;
  LoaderOptions options;
  std::vector<int> columns;  ///< for each field of the data's batch, its place in the stream's schema or -1
  double waited_s = 0;
  int64_t epochs = 0;  ///< which are read ahead
  int64_t epoch = 0;
  // Turns: batches of one epoch after the other.
  int64_t origin = 0;    ///< of the first batch of `epoch`
  int64_t position = 0;  ///< what `next` gives next
  int64_t end = 0;       ///< of `epoch`
  int64_t beyond = 0;    ///< of what may be read: the epoch behind it, too
  int64_t begun_epoch = -1;
  int64_t begun = 0;  ///< batches of that epoch that were done by others
  bool is_checked = false;
  at::ScalarType step_float = at::kFloat;  ///< of `float` in the step
  std::vector<LeftOut> left_out;

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable work_changed;
  std::condition_variable slot_changed;
  std::condition_variable batch_ready;
  Option<Clock::time_point> waits_since;  ///< of `take`, if it waits
  std::vector<Slot> slots;                ///< that of turn n lies in slot n modulo their count
  int64_t claimed = 0;                    ///< the next turn that a worker takes
  int64_t ahead = 0;                      ///< so many may be claimed and not yet given
  int64_t refill = 0;                     ///< workers are woken when no more than these are left
  int ready_threads = 0;
  int busy = 0;
  bool is_stopping = false;
};

Loader::Impl::Impl(const Stream& from, LoaderOptions chosen) : stream(from), options(std::move(chosen)) {
  if (options.mock && from.state()->batch_size() > 0) stream = mock_batches(from, options.batch);
  const StreamState& state = *stream.state();
  if (state.batch_size() == 0) {
    throw error_at(options.location, err::schema_differs, options.name,
                   "the stream delivers records; end it with collate(…)");
  }
  for (const FieldInfo& field : options.batch) {
    int column = -1;
    for (size_t i = 0; i < state.schema().size(); ++i) {
      if (Str(field.name) == state.schema()[i].name) column = int(i);
    }
    columns.push_back(column);
  }
  if (state.prefetch() >= 0) options.prefetch = int(state.prefetch());
  options.workers = std::max(options.workers, 0);
  const DeviceScope on_host(c10::kCPU);  // stages may read records for their plan
  state.check();
  state.plan();
}

Loader::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex);
    is_stopping = true;
  }
  work_changed.notify_all();
  for (std::thread& thread : threads) thread.join();
}

int64_t Loader::Impl::count(int64_t of_epoch) const {
  int64_t batches = stream.state()->size();
  const int64_t all = batches;
  if (batches != kEndless && options.world > 1) {
    const int64_t whole = batches;
    const int64_t after = options.is_even ? 0 : options.rank;
    batches = (batches - after + options.world - 1) / options.world;
    // Where there are fewer batches than ranks, some have none.
    if (whole > 0 && batches == 0 && !options.is_even) return 0;
  }
  if (batches == kEndless && options.steps_per_epoch < 0 && options.limit.batches < 0 && options.overfit <= 0) {
    throw with_help(error_at(options.location, err::stream_too_short,
                             fmt::format("{} has no end, so an epoch has none", options.name)),
                    "say how long one is: trainer { steps_per_epoch = … }");
  }
  if (options.steps_per_epoch >= 0) batches = std::min(batches, options.steps_per_epoch);
  if (options.overfit > 0) batches = std::min(batches, options.overfit);
  if (options.limit.fraction < 1 && batches != kEndless) {
    const auto part = int64_t(std::floor(double(batches) * options.limit.fraction + 1e-9));
    batches = std::min(batches, std::max(part, int64_t(1)));
  }
  if (options.limit.batches >= 0) batches = std::min(batches, options.limit.batches);
  if (batches == 0) {
    throw error_at(options.location, err::stream_too_short,
                   fmt::format("{} has no batch (batch size {})", options.name, stream.state()->batch_size()));
  }
  if (all == kEndless || begun_in(of_epoch) == 0) return batches;
  // Limits are of the whole epoch, whoever did its first batches.
  const int64_t left = std::min(all, batches * options.world) - begun_in(of_epoch);
  return std::max((left + options.world - 1) / options.world, int64_t(0));
}

/// Whether the data is over before `rank` at that turn.
bool Loader::Impl::is_stand_in(int64_t of_epoch, int64_t number, int64_t rank) const {
  const int64_t all = stream.state()->size();
  return options.is_even && all != kEndless && of_all(of_epoch, number, rank) >= all;
}

ReadAt Loader::Impl::place_of(int64_t of_epoch, int64_t number) const {
  ReadAt place{of_epoch, of_all(of_epoch, number, options.rank), options.seed, options.overfit > 0};
  if (is_stand_in(of_epoch, number, options.rank)) place.index %= stream.state()->size();
  if (stream.state()->size() == kEndless) {
    // An endless stream goes on over epochs; its passes are its epochs.
    place.epoch = 0;
    if (options.overfit <= 0) place.index = of_all(0, of_epoch * count(of_epoch) + number, options.rank);
  }
  return place;
}

/// Where every record was left out, the other ranks go through the step all the same: the next batch that has some stands
/// in. False if nobody waits for it.
bool Loader::Impl::read_or_stand_in(ReadAt place, Record& record, Batch& batch) const {
  if (stream.state()->read(place, record)) return true;
  if (!options.is_even || options.world == 1) return false;
  batch.is_stand_in = true;
  const int64_t all = stream.state()->size();
  for (int64_t other = 1; all == kEndless || other < all; other++) {
    place.index = all == kEndless ? place.index + 1 : (place.index + 1) % all;
    if (stream.state()->read(place, record)) return true;
  }
  throw error_at(options.location, err::stream_too_short,
                 fmt::format("{} has no batch with a good record", options.name));
}

/// All that is done to a batch is done by who reads it, so that the step does not pay for it.
Slot Loader::Impl::read(int64_t of_epoch, int64_t number) const {
  Slot slot;
  slot.is_empty = !read_fields(of_epoch, number, slot.batch);
  if (slot.is_empty) return slot;
  slot.misfit = misfit_of(slot.batch);
  narrow(slot.batch);
  pin(slot.batch);
  return slot;
}

bool Loader::Impl::read_fields(int64_t of_epoch, int64_t number, Batch& batch) const {
  const ModeScope mode(false, false);
  const PolicyScope policy(data_float());
  const DeviceScope on_host(c10::kCPU);                    // without workers it is the step's thread that reads
  const at::AutoDispatchBelowADInplaceOrView no_autograd;  // maps have no gradients: a third less per small op
  at(options.location);
  const ReadAt place = place_of(of_epoch, number);
  Record record;
  batch.is_stand_in = is_stand_in(of_epoch, number, options.rank);
  if (!guarded([&] { return read_or_stand_in(place, record, batch); })) return false;
  batch.fields.resize(columns.size());
  batch.size = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    batch.fields[i] = columns[i] < 0 ? Tensor() : std::move(record[size_t(columns[i])].tensor);
    if (batch.fields[i].defined()) batch.size = batch.fields[i].size(0);
  }
  return true;
}

Option<Error> Loader::Impl::misfit_of(const Batch& batch) const {
  for (size_t i = 0; i < batch.fields.size(); ++i) {
    const Tensor& tensor = batch.fields[i];
    const FieldInfo& field = options.batch[i];
    if (!tensor.defined()) continue;
    const Ints shape = tensor.shape();
    bool fits = shape.size() == field.dims.size() && In(tensor)->scalar_type() == field_type(field);
    for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
      fits = field.dims[axis] < 0 || field.dims[axis] == shape[axis];
    }
    if (fits) continue;
    FieldInfo actual = field;
    actual.dims = shape;
    actual.dtype = dtype_of(In(tensor)->scalar_type());
    return error_at(
        options.location, err::schema_differs, options.name,
        fmt::format("the field {} is {}, but the batch says {}", field.name, type_text(actual), type_text(field)));
  }
  return std::nullopt;
}

/// Records are computed in f32 at least; in the step their `float` has the width of the program's.
void Loader::Impl::narrow(Batch& batch) const {
  if (step_float == data_float()) return;
  for (size_t i = 0; i < batch.fields.size(); ++i) {
    if (options.batch[i].dtype != DType::Float || options.batch[i].host[0] != '\0' || !batch.fields[i].defined())
      continue;
    batch.fields[i] = give(In(batch.fields[i])->to(step_float));
  }
}

void Loader::Impl::start_workers() {
  if (options.workers == 0 || !threads.empty()) return;
  ahead = options.workers + std::max(options.prefetch, 1);
  refill = ahead - 1;
  slots.resize(size_t(std::max(ahead, kMostAhead)));
  const int compute_threads = at::get_num_threads();
  for (int i = 0; i < options.workers; ++i) threads.emplace_back([this] { work(); });
  std::unique_lock lock(mutex);
  slot_changed.wait(lock, [&] { return ready_threads == options.workers; });
  // The workers' count of 1 is also what threads made later would begin with.
  at::set_num_threads(compute_threads);
}

void Loader::Impl::work() {
  const CrashStack stack;  // a crash in a map is told as one in a step
  // Of threads that share a step, one that waits for its core holds up all.
  yield_to_training();
  at::set_num_threads(1);
  std::unique_lock lock(mutex);
  ++ready_threads;
  slot_changed.notify_all();
  while (true) {
    work_changed.wait(lock, [&] { return is_stopping || may_claim(); });
    if (is_stopping) return;
    const int64_t turn = claimed++;
    const bool is_ahead = turn >= end;
    const int64_t of_epoch = epoch + is_ahead, number = turn - (is_ahead ? end : origin);
    ++busy;
    lock.unlock();
    Slot result;
    try {
      result = read(of_epoch, number);
    } catch (...) {
      result.error = std::current_exception();
    }
    result.left_out = ltr::take_left_out();
    lock.lock();
    --busy;
    result.is_ready = true;
    slots[size_t(turn) % slots.size()] = std::move(result);
    slot_changed.notify_all();
    if (is_worth_waking()) batch_ready.notify_one();
  }
}

/// Small batches are read ahead by the dozen, so that a worker is woken once for many of them.
void Loader::Impl::look_ahead(const Batch& first) {
  if (options.workers == 0 || stream.state()->prefetch() >= 0) return;
  const int64_t many = std::min(kBytesAhead / bytes_of(first), kMostAhead);
  if (many <= 2 * ahead) return;
  const std::lock_guard lock(mutex);
  ahead = many;
  refill = many / 2;
}

/// Whether the workers read it already: it is behind an epoch that was given to its end, and nothing of it was changed since.
bool Loader::Impl::goes_on(int64_t of_epoch, int64_t first) const {
  return of_epoch == epoch + 1 && first == 0 && position == end && beyond - end == count(of_epoch) &&
         step_float == policy_type();
}

void Loader::Impl::begin(int64_t of_epoch, int64_t first) {
  start_workers();
  const int64_t last = count(of_epoch), ahead_of_it = following(of_epoch);
  if (goes_on(of_epoch, first)) {
    const std::lock_guard lock(mutex);
    epoch = of_epoch;
    origin = end;
    end = beyond;
    beyond = end + ahead_of_it;
  } else {
    std::unique_lock lock(mutex);
    beyond = 0;  // nobody claims any more
    slot_changed.wait(lock, [&] { return busy == 0; });
    for (Slot& slot : slots) slot = Slot();
    epoch = of_epoch;
    origin = 0;
    position = claimed = first;
    step_float = policy_type();
    end = last;
    beyond = end + ahead_of_it;
  }
  work_changed.notify_all();
}

/// What a worker has read next.
Slot Loader::Impl::take() {
  Slot taken;
  bool is_low = false;
  {
    std::unique_lock lock(mutex);
    Slot& slot = slots[size_t(position) % slots.size()];
    if (!slot.is_ready) {
      waits_since = Clock::now();
      batch_ready.wait(lock, [&] { return slot.is_ready; });
      waits_since.reset();
    }
    taken = std::exchange(slot, Slot());
    ++position;
    is_low = claimed - position <= refill;
  }
  if (is_low) work_changed.notify_one();
  return taken;
}

void Loader::Impl::fill() {
  if (threads.empty()) return;
  work_changed.notify_all();
  std::unique_lock lock(mutex);
  slot_changed.wait(lock, [&] { return busy == 0 && claimed >= std::min(beyond, position + ahead); });
}

bool Loader::Impl::next(Batch& batch) {
  const Clock::time_point start = Clock::now();
  Slot slot{.is_empty = true};
  while (slot.is_empty && position < end) {
    if (threads.empty()) {
      slot = read(epoch, position - origin);
      slot.left_out = ltr::take_left_out();
      ++position;
    } else {
      slot = take();
    }
    give_left_out(std::move(slot.left_out));
    if (slot.error != nullptr) {
      waited_s += seconds_since(start);
      std::rethrow_exception(slot.error);
    }
  }
  waited_s += seconds_since(start);
  if (slot.is_empty) return false;
  batch = std::move(slot.batch);
  if (!is_checked) {
    if (slot.misfit) throw *slot.misfit;
    look_ahead(batch);
    is_checked = true;
  }
  return true;
}

Loader::Loader(const Stream& stream, LoaderOptions options)
    : impl_(std::make_unique<Impl>(stream, std::move(options))) {}

Loader::~Loader() = default;

bool Loader::is_endless() const { return impl_->stream.state()->size() == kEndless; }

int64_t Loader::batches(int64_t epoch) const { return impl_->count(epoch); }

int64_t Loader::samples() const {
  const int64_t batches = impl_->count(0);
  return (batches - 1) * batch_size() + batch_samples(0, batches - 1);
}

int64_t Loader::batch_samples(int64_t epoch, int64_t number, int64_t rank) const {
  if (impl_->is_stand_in(epoch, number, rank)) return 0;
  return impl_->stream.state()->batch_samples(impl_->of_all(epoch, number, rank));
}

int64_t Loader::own_rank() const { return impl_->options.rank; }

void Loader::fill() { impl_->fill(); }

int64_t Loader::number() const { return impl_->position - 1 - impl_->origin; }

std::vector<Str> Loader::names_of(int64_t epoch, int64_t number) const {
  return impl_->stream.state()->names_of(impl_->place_of(epoch, number));
}

int64_t Loader::batch_size() const { return impl_->stream.state()->batch_size(); }

void Loader::begin_behind(int64_t epoch, int64_t batches) {
  impl_->begun_epoch = epoch;
  impl_->begun = batches;
}

void Loader::read_ahead_to(int64_t epochs) { impl_->epochs = epochs; }

void Loader::start(int64_t epoch, int64_t first_batch) { impl_->begin(epoch, first_batch); }

bool Loader::next(Batch& batch) { return impl_->next(batch); }

double Loader::waited_s() const { return impl_->waited_s; }

std::vector<LeftOut> Loader::take_left_out() { return std::exchange(impl_->left_out, {}); }

}  // namespace ltr::data
