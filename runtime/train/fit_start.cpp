#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/series.h"
#include "runtime/checkpoint/load.h"
#include "runtime/checkpoint/upgrade.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fit.h"
#include "runtime/train/rank_states.h"
#include "runtime/train/repeated_step.h"

// What is made at the start of `fit`, and how a run goes on from a checkpoint.

namespace ltr {

namespace {

TrainerSettings& shortened_for_dev_run(RunRequest& request) {
  TrainerSettings& settings = request.trainer;
  if (request.flags.fast_dev_run > 0) {
    settings.epochs = 1;
    settings.steps = -1;
    settings.limit_train = {request.flags.fast_dev_run, -1};
  }
  return settings;
}

size_t train_stream_of(const RunRequest& request) {
  const std::vector<size_t> streams = streams_of(request.data, Role::Train);
  if (find_step(request.experiment, Role::Train) == nullptr || streams.empty()) {
    throw error_at(request.experiment.location, err::settings_contradict,
                   fmt::format("the experiment {} has no train step and stream", request.experiment.name));
  }
  return streams.front();
}

}  // namespace

Fit::Fit(RunRequest& request)
    : request_(request),
      settings_(shortened_for_dev_run(request)),
      cx_(request, {Role::Train, Role::Val}),
      train_step_(find_step(request.experiment, Role::Train)),
      val_step_(find_step(request.experiment, Role::Val)),
      train_stream_(train_stream_of(request)),
      feed_(make_feed(request_, train_stream_)),
      state_{.outcome = cx_.outcome,
             .threads = cx_.threads,
             .planned_forms = cx_.planned_forms,
             .logs = cx_.logs,
             .gate = cx_.gate,
             .scale = cx_.scale,
             .metric_inputs = cx_.metric_inputs,
             .left_out = cx_.left_out,
             .listeners = cx_.listeners,
             .root = request.root.state(),
             .train_stream = train_stream_,
             .is_alone = request_.ranks.world() == 1},
      at_(state_.at),
      window_(request_, cx_, *train_step_, train_stream_, *feed_, at_),
      saver_(request_, cx_, state_, times_) {
  if (request.flags.profile) profile_.emplace(request.flags.trace);
  check_settings();
  const auto& optimizers = request.root.state().optimizers;
  for (size_t i = 0; i < optimizers.size(); ++i)
    cx_.logs.add_unasked("lr." + optimizers[i]->name(), [this, i] { return last_rate(i); });
  const bool skips_val = settings_.limit_val.batches == 0 || settings_.limit_val.fraction == 0;
  if (val_step_ != nullptr && !skips_val) val_streams_ = streams_of(request_.data, Role::Val);
  windows_ = std::make_unique<Windows>(settings_, feed_->batch_size() * request.ranks.world(),
                                       [this](int64_t epoch) { return feed_->batches(epoch); });
  if (settings_.val_every.real >= 1) val_parts_ = EpochParts::of(settings_.val_every, *windows_);
  if (train_step_->is_manual && !(windows_->is_constant() && windows_->rows(0, 0) == 1)) {
    throw error_at(train_step_->location, err::settings_contradict, "a manual step needs accumulate = 1");
  }
  check_repeated_step(request_, *train_step_, *windows_);
  const optim::Length length{windows_->planned(),
                             [this](double epochs) { return windows_->updates(epochs); },
                             request_.program.schedules,
                             [&](const Str& text) {
                               if (request_.flags.fast_dev_run == 0) request_.progress.warning(text);
                             },
                             windows_->is_constant(),
                             [this] { windows_->hung_on(); }};
  for (const auto& optimizer : request_.root.state().optimizers) optimizer->schedule(length);
  saver_.plan(windows_->planned());
  at_.batch_size = feed_->batch_size();
  feed_->read_ahead_to(settings_.epochs);
  if (request_.flags.fast_dev_run == 0) tell_idle_settings();
  make_listeners(
      {request_, cx_.logs, *feed_, *windows_, at_, cx_.outcome, times_, window_.batch(), cx_, saver_, cx_.late},
      cx_.listeners);
  cx_.listeners.finish();
  if (request_.writes() && saver_.has_keepers()) remove_leftovers(request_.run_dir + "/checkpoints");
}

Fit::~Fit() = default;

void Fit::check_settings() const {
  const Location& where = request_.experiment.location;
  if (settings_.steps_per_epoch > 0 && settings_.accumulate.kind == Value::Kind::Call) {
    throw error_at(where, err::settings_contradict,
                   fmt::format("steps_per_epoch counts updates, whose batches change with accumulate = {}",
                               settings_.accumulate.to_text()));
  }
  if (settings_.nan != "stop" && settings_.nan != "skip" && settings_.nan != "raise") {
    throw error_at(where, err::wrong_type, "trainer.nan", settings_.nan, "stop, skip or raise");
  }
  if (settings_.epochs < 0 && settings_.steps < 0 && settings_.max_time < 0) {
    throw error_at(where, err::settings_contradict, "training needs an end: trainer.epochs, steps or max_time");
  }
}

void Fit::tell_idle_settings() {
  const bool is_limited =
      settings_.overfit > 0 || settings_.limit_train.batches >= 0 || settings_.limit_train.fraction >= 0;
  const int64_t updates =
      settings_.steps_per_epoch > 0 && !is_limited ? int64_t(windows_->updates(1)) : settings_.steps_per_epoch;
  if (updates < settings_.steps_per_epoch) {
    request_.progress.warning(fmt::format("steps_per_epoch = {}, but train has {} batches: an epoch has {} steps",
                                          settings_.steps_per_epoch, feed_->batches(0), updates));
  }
  if (val_step_ == nullptr || !val_streams_.empty()) return;
  const auto tell = [&](const Str& series, const Str& who) {
    request_.progress.warning(fmt::format("limit_val = 0: {} has no value, which {} watches", series, who));
  };
  for (const Value& callback : request_.callbacks) {
    const Str series = text_argument(callback, "monitor", "");
    if (!is_of(series, Role::Val)) continue;
    tell(series, callback.text);
  }
  for (const auto& optimizer : request_.root.state().optimizers) {
    for (const optim::Plateau* plateau : optimizer->plateaus()) {
      if (is_of(plateau->monitor(), Role::Val)) tell(plateau->monitor(), "the plateau of " + optimizer->name());
    }
  }
}

std::vector<Str> Fit::columns() const {
  std::vector<Str> names = cx_.logs.columns();
  for (const auto& optimizer : request_.root.state().optimizers) {
    names.push_back("lr/" + optimizer->name());
    if (optimizer->clips_norm()) names.push_back("grad_norm/" + optimizer->name());
  }
  for (Str& name : cx_.listeners.columns()) names.push_back(std::move(name));
  return names;
}

// ---- resuming ------------------------------------------------------------------------------------------------

void Fit::open_checkpoint() {
  const Str& path = request_.resume;
  const Str damage = verify_checkpoint(path);
  const nlohmann::json saved = upgraded(read_manifest(path));
  if (!damage.empty()) throw error_at({}, err::checkpoint_damaged, path, damage);
  if (saved.value("weights_only", false)) {
    throw with_help(error_at({}, err::checkpoint_misfit, fmt::format("{} holds weights only", path)),
                    "give it to --weights");
  }
  const Str experiment = saved.value("experiment", "");
  if (experiment != request_.experiment.name) {
    throw error_at({}, err::checkpoint_misfit, fmt::format("{} is of the experiment {}", path, experiment));
  }
  check_data(saved);
  report_changes(saved);
  opened_weights_ = read_tensors(tensors_file(path, "weights"));
  try {
    check_weights(request_.root, opened_weights_, path, WeightTypes::Same);
  } catch (const Error& error) {
    throw with_help(
        Error(error),
        "resume with the program that the run had; what fits of its weights another one takes with `from \"FILE\" "
        "{ skip \"PATTERN\" }`");
  }
  check_state(saved);
  manifest_ = saved;
}

/// Before anything of the run is changed.
void Fit::check_state(const nlohmann::json& saved) {
  LoadArchive archive(saved, read_state(request_.resume), request_.resume);
  cx_.logs.check_fits(archive, train_stream_);
  // Of the same program they are what its steps have not come to yet.
  Position there;
  there.visit(archive);
  const bool is_another = !computes_alike(saved, request_.program, request_.experiment);
  const std::vector<Str> late =
      is_another && !there.is_between_epochs() ? cx_.logs.begun_anew(archive) : std::vector<Str>();
  if (!late.empty()) {
    request_.progress.notice(fmt::format("{} {} not logged in the part of the epoch that is over: {} of the rest of it",
                                         fmt::join(late, ", "), late.size() == 1 ? "was" : "were",
                                         late.size() == 1 ? "its value is" : "their values are"));
  }
  const Archive::Part optimizers(archive, "optimizers");
  for (const auto& optimizer : request_.root.state().optimizers) {
    if (!archive.has(optimizer->name())) continue;
    const Archive::Part own(archive, optimizer->name());
    optimizer->check_fits(archive);
  }
}

void Fit::resume() {
  const Str& path = request_.resume;
  take_weights(request_.root, std::exchange(opened_weights_, {}), path);
  const StoredState saved = read_state(path);
  const Ranks& ranks = request_.ranks;
  RankState own = state_of_rank(manifest_, saved, ranks.rank());
  LoadArchive archive(own.manifest, std::move(own.stored), path);
  const NoGrad no_grad;
  try {
    state_.visit(archive);
  } catch (const nlohmann::json::exception& error) {
    throw error_at({}, err::checkpoint_damaged, path, error.what());
  }
  for (const Str& note : archive.notes()) request_.progress.notice(note);
  const int64_t world = manifest_.value("world", int64_t(1));
  if (world != ranks.world()) change_world(world, saved);
  if (world != ranks.world() || at_.batch_size != feed_->batch_size()) begin_elsewhere(world);
  // What ended the run may be what is no more; if it still is, it ends it again.
  if (ends_otherwise_ && cx_.outcome.is_stopping) {
    request_.progress.notice(fmt::format("goes on behind what ended it: {}", cx_.outcome.reason));
    cx_.outcome = {};
  }
  cx_.restore_left_out();
  cx_.global_step = at_.global_step;
  cx_.ends_epoch = at_.ends_epoch;
  // The loggers cut from this step on, so its row is written again.
  if (state_.rows.was_written(at_.global_step)) {
    cx_.epoch = state_.rows.put_back(windows_->planned() == at_.global_step);
    flush_row();
  }
  cx_.epoch = at_.epoch;
  saver_.resumed_from(path);
  cx_.path = path;
  cx_.run_hook(Hook::checkpoint_load);
}

/// The run goes on with another number of ranks: behind the same samples, with all that was summed of them.
void Fit::change_world(int64_t before, const StoredState& saved) {
  const Ranks& ranks = request_.ranks;
  if (feed_->is_endless()) {
    throw with_help(error_at({}, err::settings_contradict,
                             fmt::format("the train stream has no end, so that a run of {} "
                                         "processes cannot go on with {}",
                                         before, ranks.world())),
                    fmt::format("start {} of them", before));
  }
  for (int64_t rank = ranks.rank() + ranks.world(); rank < before; rank += ranks.world()) {
    RankState other = state_of_rank(manifest_, saved, rank);
    at_.samples += other.manifest.value("samples", int64_t(0));
    LoadArchive archive(other.manifest, std::move(other.stored), request_.resume);
    state_.logs.absorb(archive, train_stream_);
  }
}

/// The rest of the epoch is cut into other batches, behind the same records.
void Fit::begin_elsewhere(int64_t world_before) {
  if (feed_->is_endless()) {
    at_.batch_size = feed_->batch_size();
    return request_.progress.notice(
        "the batch size changed, and the train stream has no end: it goes on at the batch of the same "
        "number, behind other records");
  }
  const int64_t before = at_.batch_size > 0 ? at_.batch_size : feed_->batch_size();
  const int64_t records = (at_.begun + at_.batch * world_before) * before;
  at_.batch_size = feed_->batch_size();
  at_.begun = records / at_.batch_size;
  at_.batch = 0;
  if (const int64_t again = records % at_.batch_size; again != 0) {
    request_.progress.notice(
        fmt::format("{} records of the epoch come again: what was done of it does not divide by batches of {}", again,
                    at_.batch_size));
  }
}

void Fit::check_data(const nlohmann::json& saved) const {
  const nlohmann::json before = saved.value("data", nlohmann::json::array());
  if (before.empty()) return;
  // Wherever the bytes lie, they are the same data; but each in its place, for that is where its records are read.
  const std::vector<DataFile>& now = request_.data_files;
  std::vector<Str> changed;
  for (size_t i = 0; i < std::max(now.size(), before.size()); i++) {
    const bool is_same =
        i < now.size() && i < before.size() && before[i].value("fingerprint", "") == now[i].fingerprint;
    if (!is_same) changed.push_back(i < now.size() ? now[i].path : before[i].value("path", ""));
  }
  if (changed.empty()) return;
  const Str files = fmt::format("{}", fmt::join(changed, ", "));
  if (!request_.flags.accept_data) {
    throw with_help(error_at({}, err::data_changed, files),
                    "--accept-data goes on with what is there now, not bit for bit");
  }
  request_.progress.notice(fmt::format("continues with changed data, not bit for bit: {}", files));
}

void Fit::report_changes(const nlohmann::json& saved) {
  std::vector<Str> changes;
  const auto compare = [&](const Str& name, const Str& before, const Str& now) {
    if (before == now) return;
    changes.push_back(fmt::format("{}: {} → {}", name, before, now));
    ends_otherwise_ = ends_otherwise_ || name.starts_with("callbacks.");
  };
  ends_otherwise_ = !computes_alike(saved, request_.program, request_.experiment);
  if (ends_otherwise_)
    compare("program", saved.value("program", "").substr(0, 12), Str(request_.program.source_hash).substr(0, 12));
  compare("seed", std::to_string(saved.value("seed", int64_t(0))), std::to_string(settings_.seed));
  compare("processes", std::to_string(saved.value("world", int64_t(1))), std::to_string(request_.ranks.world()));
  compare("threads", std::to_string(saved.value("threads", 0)), std::to_string(at::get_num_threads()));
  if (windows_->is_hung_on() && saved.contains("updates"))
    compare("updates, of which rates are a part", std::to_string(saved.value("updates", int64_t(0))),
            std::to_string(windows_->planned()));
  const nlohmann::json before = saved.value("settings", nlohmann::json::object());
  for (const auto& [name, value] : before.items()) {
    const bool is_off = name.starts_with("callbacks.") && value == "\"off\"";
    const bool is_still = std::ranges::any_of(request_.settings, [&](const auto& one) { return one.first == name; });
    if (is_off && !is_still) compare(name, "off", "on");
  }
  for (const auto& [name, value] : request_.settings) {
    if (name.starts_with("callbacks.") && value.to_text() == "\"off\"" && !before.contains(name))
      compare(name, "on", "off");
    const bool only_ends = name == "trainer.epochs" || name == "trainer.steps" || name == "trainer.max_time";
    if (!only_ends && before.contains(name)) compare(name, before[name], value.to_text());
  }
  if (changes.empty()) return;
  const Str text = fmt::format("continues, not bit for bit: {}", fmt::join(changes, "; "));
  if (request_.flags.strict_resume) throw error_at({}, err::settings_contradict, text);
  request_.progress.notice(text);
}

}  // namespace ltr
