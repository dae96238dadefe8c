#include <algorithm>
#include <cmath>

#include "runtime/callbacks/arguments.h"
#include "runtime/loggers/logger.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/fit.h"

// What is made at the start of `fit`, and who is told what: schedules, EarlyStop, Checkpoint, Ema,
// GradNorm, LrMonitor, Throughput, Timer.

namespace ltr {

namespace {

/// Names of callbacks that live in the terminal or are always on: nothing is to be made for them.
bool is_always_there(const Str& name) {
  return name == "ProgressBar" || name == "Summary" || name == "StopOnSignal";
}

bool ends_with_any(const Str& text, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return text.ends_with(ending); });
}

TrainerSettings& shortened_for_dev_run(RunRequest& request) {
  TrainerSettings& settings = request.trainer;
  if (request.flags.fast_dev_run > 0) {
    const int64_t batches = request.flags.fast_dev_run;
    settings.epochs = 1;
    settings.steps = -1;
    settings.limit_train = {batches, -1};
    settings.checkpoint = false;
    std::erase_if(request.callbacks, [](const Value& call) { return call.text == "EarlyStop" || call.text == "Checkpoint"; });
  }
  return settings;
}

}  // namespace

Fit::Fit(RunRequest& request)
    : request_(request),
      settings_(shortened_for_dev_run(request)),
      cx_(request, {Role::Train, Role::Val}),
      train_step_(find_step(request.experiment, Role::Train)),
      val_step_(find_step(request.experiment, Role::Val)) {
  check_settings();
  const std::vector<size_t> train_streams = streams_of(request_.data, Role::Train);
  if (train_step_ == nullptr || train_streams.empty()) {
    throw error_at(request_.experiment.location, err::settings_contradict,
                   fmt::format("the experiment {} has no train step and stream", request_.experiment.name));
  }
  train_stream_ = train_streams.front();
  const bool skips_val = settings_.limit_val.batches == 0 || settings_.limit_val.fraction == 0;
  if (val_step_ != nullptr && !skips_val) val_streams_ = streams_of(request_.data, Role::Val);
  feed_ = make_feed(request_, train_stream_);
  windows_ = std::make_unique<Windows>(settings_, feed_->batch_size(), [this](int64_t epoch) { return feed_->batches(epoch); });
  if (train_step_->is_manual && windows_->rows(0, 0) != 1) {
    throw error_at(train_step_->location, err::settings_contradict, "a manual step needs accumulate = 1");
  }
  find_counted_field();
  const optim::Length length{windows_->planned(), [this](double epochs) { return windows_->updates(epochs); }};
  for (const auto& optimizer : request_.root.state().optimizers) optimizer->schedule(length);
  make_listeners();
  if (!request_.run_dir.empty() && !keepers_.empty()) remove_leftovers(checkpoints_dir());
}

Fit::~Fit() = default;

void Fit::check_settings() const {
  const auto refuse = [&](const Str& text) {
    throw error_at(request_.experiment.location, err::settings_contradict, text);
  };
  if (settings_.nan == "raise") refuse("trainer.nan = raise is not in this version; use stop or skip");
  if (settings_.nan != "stop" && settings_.nan != "skip") {
    throw error_at(request_.experiment.location, err::wrong_type, "trainer.nan", settings_.nan, "stop, skip or raise");
  }
  if (settings_.anomaly) refuse("trainer.anomaly is not in this version");
  if (settings_.epochs < 0 && settings_.steps < 0 && settings_.max_time_s < 0) {
    refuse("training needs an end: trainer.epochs, steps or max_time");
  }
  const Str& weigh = settings_.weigh.text;
  if (weigh != "samples" && weigh != "batches" && weigh != "count") {
    throw error_at(request_.experiment.location, err::wrong_type, "trainer.weigh", settings_.weigh.to_text(),
                   "samples, batches or count(…)");
  }
}

void Fit::find_counted_field() {
  if (settings_.weigh.text != "count" || settings_.weigh.items.empty()) return;
  const Str& name = settings_.weigh.items[0].value.as_str();
  for (size_t i = 0; i < request_.data.batch.size(); i++) {
    if (name == request_.data.batch[i].name) counts_field_ = int(i);
  }
  if (counts_field_ < 0) {
    throw error_at(request_.experiment.location, err::unknown_setting, fmt::format("trainer.weigh: field {}", name));
  }
  if (const Value* ignore = settings_.weigh.find("ignore")) counts_ignore_ = ignore->as_int();
}

bool Fit::is_max(const Str& series, const Str& mode, const Location& location) const {
  if (mode == "max" || mode == "min") return mode == "max";
  const Str name = series.substr(series.rfind('.') + 1);
  if (ends_with_any(name, {"loss", "error", "perplexity"})) return false;
  for (const LogInfo& info : request_.program.logs) {
    if (name != info.name || info.kind != LogKind::Metric) continue;
    return !ends_with_any(name, {"mae", "mse", "rmse", "wer", "cer"});
  }
  throw with_help(error_at(location, err::settings_contradict, fmt::format("is a larger or a smaller {} better?", series)),
                  "write mode = max or mode = min");
}

void Fit::check_series(const Str& series, const Str& who, const Location& location) const {
  if (cx_.logs.has(series)) return;
  Str known;
  for (const auto& [name, value] : cx_.logs.all_newest()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  throw with_help(error_at(location, err::unknown_setting, fmt::format("{}: monitor = {}", who, series)),
                  fmt::format("logged are: {}", known));
}

void Fit::make_listeners() {
  bool has_keeper = false;
  for (const Value& call : request_.callbacks) {
    const Str mode = text_argument(call, "mode", "auto");
    const Str monitor = text_argument(call, "monitor", "");
    if (call.text == "EarlyStop") {
      check_series(monitor, "EarlyStop", call.location);
      early_stops_.emplace_back(call, is_max(monitor, mode, call.location));
    } else if (call.text == "Checkpoint") {
      has_keeper = true;
      if (!monitor.empty()) check_series(monitor, "Checkpoint", call.location);
      keepers_.emplace_back(call, !monitor.empty() && is_max(monitor, mode, call.location));
    } else if (call.text == "Ema") {
      if (ema_ != nullptr) throw error_at(call.location, err::settings_contradict, "there are two callbacks Ema");
      ema_ = std::make_unique<Ema>(call, request_.root.state(), [&](double epochs) { return windows_->updates(epochs); });
    } else if (call.text == "Timer") {
      const Value* every = argument(call, "every");
      if (every != nullptr && every->kind != Value::Kind::Epochs) {
        throw error_at(call.location, err::wrong_type, "callbacks.Timer.every", every->to_text(), "epochs");
      }
      timer_epochs_ = every == nullptr ? 1 : std::max<int64_t>(int64_t(every->real), 1);
    } else if (call.text == "GradNorm") {
      grad_norm_.emplace(call);
    } else if (call.text == "LrMonitor") {
      if (bool_argument(call, "momentum", false) || bool_argument(call, "weight_decay", false)) {
        throw error_at(call.location, err::settings_contradict,
                       "LrMonitor(momentum, weight_decay) is not in this version; it records the rates");
      }
      wants_group_rates_ = true;
    } else if (call.text == "Throughput") {
      counts_tokens_ = text_argument(call, "unit", "samples") == "tokens";
      const Value* window = argument(call, "window");
      throughput_window_ = window == nullptr ? 100 : int64_t(window->kind == Value::Kind::Int ? double(window->whole) : window->real);
    } else if (!is_always_there(call.text)) {
      const bool is_own = std::any_of(request_.program.callbacks.begin(), request_.program.callbacks.end(),
                                      [&](const CallbackInfo& info) { return call.text == info.name; });
      if (!is_own) {
        throw with_help(error_at(call.location, err::unknown_setting, fmt::format("callback {} in this version", call.text)),
                        "there are Checkpoint, EarlyStop, Ema, GradNorm, LrMonitor, Throughput, Timer and those of the program");
      }
    }
  }
  if (!has_keeper && settings_.checkpoint) keepers_.emplace_back(Value::call("Checkpoint", {}), false);
  if (request_.flags.bare || request_.run_dir.empty()) keepers_.clear();
  for (const auto& optimizer : request_.root.state().optimizers) {
    for (optim::Plateau* plateau : optimizer->plateaus()) {
      check_series(plateau->monitor(), "plateau", request_.experiment.location);
      if (plateau->wants_direction()) {
        plateau->set_direction(is_max(plateau->monitor(), "auto", request_.experiment.location));
      }
    }
  }
}

std::vector<Str> Fit::columns() const {
  std::vector<Str> names = cx_.logs.columns();
  for (const auto& optimizer : request_.root.state().optimizers) {
    Named values;
    rates(*optimizer, values);
    for (const auto& [name, value] : values) names.push_back(name);
    if (optimizer->clips_norm()) names.push_back("grad_norm/" + optimizer->name());
    if (!measures_grads_of(*optimizer)) continue;
    for (Str& name : grad_norm_->names(*optimizer)) names.push_back(std::move(name));
  }
  return names;
}

// Clipping computes the norm of everything anyway, and records it.
bool Fit::measures_grads_of(const Optimizer& optimizer) const {
  return grad_norm_ && !(grad_norm_->is_total() && optimizer.clips_norm());
}

void Fit::rates(const Optimizer& optimizer, Named& values) const {
  // The rate that made this step: schedules read the number of steps before it.
  const int64_t t = std::max<int64_t>(at_.global_step - 1, 0);
  values.emplace_back("lr/" + optimizer.name(), optimizer.rate(t));
  if (!wants_group_rates_) return;
  const auto groups = optimizer.group_rates(t);
  if (groups.size() < 2) return;
  for (const auto& [pattern, rate] : groups) values.emplace_back(fmt::format("lr/{}/{}", optimizer.name(), pattern), rate);
}

void Fit::tell_time() {
  if (timer_epochs_ == 0 || at_.epoch % timer_epochs_ != 0 || request_.recorder == nullptr) return;
  const double train_s = train_before_s_ + seconds_since(began_) - val_s_ - checkpoint_s_ - data_s_;
  request_.recorder->system(at_.global_step, {{"time/train_s", train_s},
                                              {"time/data_s", data_s_},
                                              {"time/val_s", val_s_},
                                              {"time/checkpoint_s", checkpoint_s_}});
}

void Fit::measure_throughput() {
  if (throughput_window_ == 0 || at_.global_step - throughput_step_ < throughput_window_) return;
  int64_t items = at_.samples;
  if (counts_tokens_) {
    // Elements of the first i64[B, T] field, at the size of the newest batch.
    for (const Tensor& field : batch_.fields) {
      if (field.defined() && field.dim() == 2 && field.dtype() == DType::I64) {
        items = at_.samples * field.size(1);
        break;
      }
    }
  }
  const double seconds = seconds_since(throughput_time_);
  if (throughput_step_ > 0 && seconds > 0 && request_.recorder != nullptr) {
    const double rate = double(items - throughput_items_) / seconds;
    request_.recorder->system(at_.global_step, {{counts_tokens_ ? "throughput/tokens_per_s" : "throughput/samples_per_s", rate}});
  }
  throughput_step_ = at_.global_step;
  throughput_items_ = items;
  throughput_time_ = Clock::now();
}

void Fit::tell_fresh(Role role) {
  const Str prefix = Str(role_name(role)) + ".";
  for (const auto& optimizer : request_.root.state().optimizers) {
    for (optim::Plateau* plateau : optimizer->plateaus()) {
      if (plateau->monitor().starts_with(prefix)) plateau->take(cx_.logs.newest(plateau->monitor()));
    }
  }
  for (EarlyStop& early : early_stops_) {
    if (!early.monitor().starts_with(prefix)) continue;
    const Str reason = early.take(cx_.logs.newest(early.monitor()));
    if (reason.empty() || is_stopping_) continue;
    is_stopping_ = true;
    outcome_ = "early stop";
    reason_ = reason;
  }
  for (CheckpointKeeper& keeper : keepers_) {
    if (keeper.monitor().starts_with(prefix)) keeper.note_fresh(cx_.logs.newest(keeper.monitor()));
  }
}

// ---- checkpoints ---------------------------------------------------------------------------------------------

void Fit::save_if_due(bool epoch_ended) {
  if (!keepers_.empty()) {
    at_.train_s = train_before_s_ + seconds_since(began_);
    for (CheckpointKeeper& keeper : keepers_) {
      if (!keeper.is_due(at_.global_step, at_.epoch, at_.train_s, epoch_ended)) continue;
      const Str name = keeper.name(at_.global_step, cx_.epoch, [this](const Str& series) { return cx_.logs.newest(series); });
      const std::vector<Str> gone = keeper.saved(name, at_.global_step);
      write(name, keeper.weights_only());
      let_go(gone);
    }
  }
  write_wanted();
}

void Fit::write_wanted() {
  for (const Str& name : std::exchange(cx_.saves, {})) {
    if (!request_.run_dir.empty()) write(name, false);
  }
}

void Fit::let_go(const std::vector<Str>& names) {
  for (const Str& name : names) {
    const bool is_wanted = name == resumed_from_ || name == last_saved_ ||
                           std::any_of(keepers_.begin(), keepers_.end(),
                                       [&](const CheckpointKeeper& keeper) { return keeper.keeps(name); });
    if (!is_wanted) remove_checkpoint(checkpoints_dir(), name);
  }
}

Str Fit::write(const Str& name, bool weights_only) {
  const Clock::time_point begin = Clock::now();
  cx_.path = checkpoints_dir() + "/" + name;
  cx_.run_hook(Hook::checkpoint_save);
  // Rows first: a run killed right behind its checkpoint must not lack them.
  if (request_.recorder != nullptr) request_.recorder->flush();
  const Str path = write_checkpoint(checkpoints_dir(), name, snapshot(weights_only));
  if (!weights_only) saved_step_ = at_.global_step;
  if (!weights_only && !keeps_position_) {
    last_saved_ = name;
    point_link(checkpoints_dir(), "last", name);
  }
  for (const CheckpointKeeper& keeper : keepers_) {
    if (keeper.best() == nullptr) continue;
    if (read_link(checkpoints_dir(), "best") != keeper.best()->name) point_link(checkpoints_dir(), "best", keeper.best()->name);
    break;
  }
  checkpoint_s_ += seconds_since(begin);
  request_.progress.checkpoint(path);
  if (request_.recorder != nullptr) {
    request_.recorder->event(at_.global_step, "checkpoint", fmt::format("\"path\":\"checkpoints/{}\"", name));
  }
  return path;
}

void Fit::final_checkpoint() {
  const int signal = SignalWatch::received();
  if (keepers_.empty() || saved_step_ == at_.global_step || at_.global_step == 0) return;
  if (!keepers_.front().saves_last() && signal == 0) return;
  const Str name = fmt::format("step{:07}", at_.global_step);
  const std::vector<Str> gone = keepers_.front().saved(name, at_.global_step);
  write(name, false);
  let_go(gone);
}

void Fit::fail(const Error& error) {
  cx_.code = error.code;
  cx_.reason = error.message;
  cx_.run_hook(Hook::failure);
  const bool is_numeric = error.code.starts_with("R4");
  const bool wants = !keepers_.empty() && keepers_.front().saves_on_failure() && at_.global_step > 0;
  if (!wants || error.code == "R1004" || saved_step_ == at_.global_step) return;
  // The step broke in the middle, so only the weights are worth keeping, and only if it changed none of them.
  if (cx_.has_updated()) return;
  write(fmt::format("{}-step{:07}", is_numeric ? "nonfinite" : "failure", at_.global_step), true);
}

void Fit::try_other_steps() {
  for (const Role role : {Role::Test, Role::Predict}) {
    const StepInfo* step = find_step(request_.experiment, role);
    const std::vector<size_t> streams = streams_of(request_.data, role);
    if (step == nullptr || streams.empty()) continue;
    request_.progress.round_begin(role, request_.flags.fast_dev_run);
    pass(cx_, *step, streams, request_.flags.fast_dev_run);
    request_.progress.round_end(role, at_.epoch, at_.global_step, {});
  }
}

void Fit::fill(FitReport& report) {
  const int signal = SignalWatch::received();
  report.outcome = outcome_;
  report.reason = reason_;
  if (signal == SIGINT) {
    report.exit_code = 130;
    report.outcome = "interrupted";
    report.reason = "stopped by the user";
  } else if (signal != 0) {
    report.exit_code = 75;
    report.outcome = "interrupted";
    report.reason = "asked to stop; start again with --resume auto";
  } else if (cx_.wants_stop && outcome_ == "finished") {
    report.outcome = "stopped";
    report.reason = cx_.stop_reason;
  }
  report.steps = at_.global_step;
  report.epochs = at_.epoch;
  report.samples = at_.samples;
  report.skipped_updates = cx_.skipped;
  report.val_s = val_s_;
  report.checkpoint_s = checkpoint_s_;
  report.data_wait_s = feed_->waited_s();
  report.train_s = std::max(at_.train_s - train_before_s_ - val_s_ - checkpoint_s_, 0.0);
  for (const CheckpointKeeper& keeper : keepers_) {
    if (keeper.best() == nullptr) continue;
    report.best.push_back({keeper.monitor(), keeper.best()->value, keeper.best()->step, checkpoints_dir() + "/" + keeper.best()->name});
  }
  for (const auto& [series, value] : cx_.logs.all_newest()) {
    if (!std::isnan(value)) report.last.emplace_back(series, value);
  }
  if (!last_saved_.empty()) report.last_checkpoint = checkpoints_dir() + "/" + last_saved_;
}

int64_t planned_steps(const RunRequest& request) {
  const std::vector<size_t> streams = streams_of(request.data, Role::Train);
  if (streams.empty()) return -1;
  const std::unique_ptr<Feed> feed = make_feed(request, streams.front());
  return Windows(request.trainer, feed->batch_size(), [&](int64_t epoch) { return feed->batches(epoch); }).planned();
}

}  // namespace ltr
