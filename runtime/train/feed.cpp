#include "runtime/train/feed.h"

#include <algorithm>

#include "runtime/data/loader.h"
#include "runtime/tensor/random.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

class LoaderFeed : public Feed {
 public:
  LoaderFeed(const Stream& stream, data::LoaderOptions options) : loader_(stream, std::move(options)) {}
  int64_t batches(int64_t epoch) override { return loader_.batches(epoch); }
  int64_t batch_samples(int64_t epoch, int64_t batch) override { return loader_.batch_samples(epoch, batch); }
  int64_t batch_samples_of(int64_t rank, int64_t epoch, int64_t batch) override {
    return loader_.batch_samples(epoch, batch, rank);
  }
  int64_t batch_size() override { return loader_.batch_size(); }
  bool is_endless() override { return loader_.is_endless(); }
  void begin_behind(int64_t epoch, int64_t batches) override { loader_.begin_behind(epoch, batches); }
  void read_ahead_to(int64_t epochs) override { loader_.read_ahead_to(epochs); }
  void start(int64_t epoch, int64_t first_batch) override { loader_.start(epoch, first_batch); }
  bool next(Batch& batch) override { return loader_.next(batch); }
  void fill() override { loader_.fill(); }
  int64_t number() override { return loader_.number(); }
  double waited_s() override { return loader_.waited_s(); }
  std::vector<Str> records(int64_t epoch, int64_t batch) override { return loader_.names_of(epoch, batch); }
  std::vector<LeftOut> take_left_out() override { return loader_.take_left_out(); }

 private:
  data::Loader loader_;
};

const Limit& limit_of(const TrainerSettings& settings, Role role) {
  switch (role) {
    case Role::Train: return settings.limit_train;
    case Role::Val: return settings.limit_val;
    case Role::Test: return settings.limit_test;
    case Role::Predict: return settings.limit_predict;
  }
  return settings.limit_train;
}

}  // namespace

data::LoaderOptions loader_options(const Data& data, size_t stream, const TrainerSettings& settings) {
  const Data::RoleStream& role_stream = data.streams[stream];
  const Limit& limit = limit_of(settings, role_stream.role);
  data::LoaderOptions options;
  options.batch = data.batch;
  options.location = role_stream.location;
  options.name = stream_name(data, stream);
  options.seed = uint64_t(settings.seed);
  // What is drawn for a record is of its stream: `val` that is made by the function that makes `train` has other records.
  if (role_stream.role != Role::Train) options.seed = random_key(options.seed, "stream", options.name);
  options.limit.batches = limit.batches;
  if (limit.fraction >= 0) options.limit.fraction = limit.fraction;
  if (role_stream.role != Role::Train) return options;
  options.overfit = settings.overfit;
  options.steps_per_epoch = settings.steps_per_epoch;
  // Steps are windows; the loader counts batches.
  const bool is_constant = settings.accumulate.kind == Value::Kind::Int;
  if (settings.steps_per_epoch > 0 && is_constant) options.steps_per_epoch *= settings.accumulate.as_int();
  return options;
}

data::LoaderOptions loader_options(const RunRequest& request, size_t stream) {
  data::LoaderOptions options = loader_options(request.data, stream, request.trainer);
  options.workers = int(request.workers);
  options.prefetch = int(request.prefetch);
  options.mock = request.flags.mock_data;
  options.rank = request.ranks.rank();
  options.world = request.ranks.world();
  // Who computes with all others needs as many batches as they have.
  options.is_even = request.data.streams[stream].role == Role::Train || request.root.state().divides_weights();
  return options;
}

std::unique_ptr<Feed> make_feed(const RunRequest& request, size_t stream, int64_t batches) {
  if (request.make_feed) return request.make_feed(stream);
  const TrainerSettings& settings = request.trainer;
  if (settings.overfit > 0 && request.data.streams[stream].role == Role::Val) {
    // It validates on what it trains on.
    for (const size_t train : streams_of(request.data, Role::Train)) return make_feed(request, train, batches);
  }
  data::LoaderOptions options = loader_options(request, stream);
  if (batches >= 0)
    options.limit.batches = options.limit.batches >= 0 ? std::min(options.limit.batches, batches) : batches;
  return std::make_unique<LoaderFeed>(request.data.streams[stream].stream, std::move(options));
}

std::vector<size_t> streams_of(const Data& data, Role role) {
  std::vector<size_t> list;
  for (size_t i = 0; i < data.streams.size(); i++) {
    if (data.streams[i].role == role) list.push_back(i);
  }
  return list;
}

const char* role_name(Role role) {
  switch (role) {
#define LTR_ROLE(Name, name, ...) \
  case Role::Name: return #name;
#include "runtime/tables/roles.def"
#undef LTR_ROLE
  }
  return "";
}

Str stream_name(const Data& data, size_t stream) {
  const Data::RoleStream& role_stream = data.streams[stream];
  Str name = role_name(role_stream.role);
  if (role_stream.name[0] != '\0') name += Str(".") + role_stream.name;
  return name;
}

const StepInfo* find_step(const ExperimentInfo& experiment, Role role) {
  for (const StepInfo& step : experiment.steps) {
    if (step.role == role) return &step;
  }
  return nullptr;
}

}  // namespace ltr
