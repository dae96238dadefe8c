#include "runtime/train/session.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "doors/number.h"
#include "ltr/operators.h"
#include "runtime/callbacks/program_callback.h"
#include "runtime/plan/recorder.h"
#include "runtime/tables/run_names.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/inspector.h"
#include "runtime/train/kept_metrics.h"

namespace ltr {

using plan::is_rehearsed, plan::Recorder;

namespace {

/// The slots that steps of `roles` and the program's callbacks may write.
std::vector<int> slots_of(const RunRequest& request, const std::vector<Role>& roles) {
  std::vector<int> slots;
  for (const StepInfo& step : request.experiment.steps) {
    if (std::find(roles.begin(), roles.end(), step.role) == roles.end()) continue;
    slots.insert(slots.end(), step.logs.begin(), step.logs.end());
  }
  for (const Value& call : request.callbacks) {
    const CallbackInfo* info = find_callback(request.program, call.text);
    if (info != nullptr) slots.insert(slots.end(), info->logs.begin(), info->logs.end());
  }
  return slots;
}

Weights all_weights(const RunRequest& request) {
  Weights weights;
  for (const Entry& entry : request.root.state().weights) weights.push_back({entry.path, entry.tensor});
  return weights;
}

int64_t elements_of(const std::vector<Entry>& entries) {
  int64_t elements = 0;
  for (const Entry& entry : entries) elements += In(entry.tensor)->numel();
  return elements;
}

}  // namespace

const CallbackInfo* find_callback(const Program& program, const Str& name) {
  for (const CallbackInfo& info : program.callbacks) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

Session::Session(RunRequest& run_request, std::vector<Role> roles)
    : request(run_request),
      logs(run_request.program, run_request.data, run_request.model, slots_of(run_request, roles), run_request.ranks),
      gate(run_request, global_step),
      late(run_request, gate, scale),
      metric_inputs(run_request),
      threads(elements_of(run_request.root.state().weights)),
      agreement(run_request.ranks, {outcome, ends_epoch, saves}),
      gradients_(run_request.root, run_request.ranks, run_request.travel, scale, late, run_request.progress),
      buffers_(run_request.root.state(), run_request.ranks, run_request.sync_batchnorm),
      roles_(std::move(roles)),
      runner_(make_runner(*this)) {
  data = &request.data;
  global_step = request.trained.steps;
  epoch = request.trained.epoch;
  run_dir = request.run_dir;
  run_name = request.run_name;
  rank = request.ranks.rank();
  world = request.ranks.world();
  counting_.sum = standing_in_.sum = [this](const at::Tensor& sums) { request.ranks.sum_tensor(sums); };
  standing_in_.counts = false;
  std::unordered_map<Str, int> instances;
  uint64_t number = 0;
  for (const Value& call : request.callbacks) {
    const CallbackInfo* info = find_callback(request.program, call.text);
    if (info == nullptr) continue;
    std::unique_ptr<Callback> callback(info->make(call, request.model));
    listeners.add(
        Turn::Listed, fmt::format("{}#{}", call.text, instances[call.text]++),
        std::make_unique<ProgramCallback>(number++, *info, std::move(callback), uint64_t(request.trainer.seed)));
  }
}

Session::~Session() = default;

const JointSum* Session::joint_sum_of(Role role, bool counts) {
  if (world == 1 || role != Role::Train || !request.sync_batchnorm) return nullptr;
  return counts ? &counting_ : &standing_in_;
}

void Session::run_step(const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t number) {
  stream = int64_t(stream_index);
  batch_size = batch.size;
  running_ = {&info, &batch, stream_index, number};
  const JointSumScope joint(joint_sum_of(info.role, true));
  if (request.trainer.anomaly) {
    const Inspector inspector;
    try {
      return runner_->run(info, batch, stream_index, number);
    } catch (const Error& error) {
      if (error.exit_code() != 4) throw;
      throw inspector.explained(error);
    }
  }
  try {
    runner_->run(info, batch, stream_index, number);
  } catch (const Error& error) {
    // Where weights are divided no rank can run a step by itself.
    if (error.exit_code() != 4 || request.trainer.nan != "raise" || request.root.state().divides_weights()) throw;
    throw repeated(error, info, batch, stream_index, number);
  }
}

void Session::stand_in(const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t number) {
  const KeptMetrics metrics(request.model, int64_t(stream_index));
  running_ = {&info, &batch, stream_index, number};
  is_stand_in = true;
  const JointSumScope joint(joint_sum_of(info.role, false));
  runner_->run(info, batch, stream_index, number);
  is_stand_in = false;
}

Error Session::repeated(const Error& error, const StepInfo& info, const Batch& batch, size_t stream_index,
                        uint64_t number) {
  const Inspector inspector;
  const JointSumScope alone(nullptr);  // the other ranks do not repeat it
  is_repeating_ = is_silent = true;
  for (const auto& one : request.root.state().optimizers) one->zero_grad();
  try {
    runner_->run(info, batch, stream_index, number);
  } catch (const Error&) {
    // The first failure is the one that counts.
  }
  is_repeating_ = is_silent = false;
  return inspector.explained(error);
}

void Session::repeat(const at::Tensor& of, const Optimizer* by, bool keep_graph) {
  // The inspector explains what was taken last.
  const auto need = [](const at::Tensor& tensor) {
    if (tensor.defined() && !at::isfinite(tensor).all().item<bool>())
      throw Error(err::gradient_not_finite.code, "", {});
  };
  need(of);
  gradients_.repeat(of, by, keep_graph);
  for (const auto& one : request.root.state().optimizers) {
    for (const Weight& weight : one->weights()) need(In(weight.tensor)->grad());
  }
}

// ---- gradients -----------------------------------------------------------------------------------------------

void Session::begin_window(const StepInfo& info, bool is_recorded) {
  gradients_.begin_window(!info.updates_always);
  late.begin_window(global_step + 1);
  has_updated_ = false;
  is_recorded_ = is_recorded && !request.flags.bare;
  if (!request.flags.bare) logs.begin_window(is_recorded_);
}

void Session::minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) {
  if (optimizer.repeats_step()) refuse_plan(Unplanned::RepeatedStep);
  if (is_rehearsed([&](Recorder& recorder) {
        Weights rests;
        for (const Weight& weight : optimizer.weights()) {
          if (optimizer.rests(In(weight.tensor))) rests.push_back(weight);
        }
        return plan::Minimized{recorder.id_of(loss), &optimizer, last, recorder.ids_of(optimizer.weights()),
                               recorder.ids_of(rests)};
      }))
    return;
  if (evaluated_ != nullptr) {
    evaluated_->loss = guarded([&] { return take_evaluation(In(loss), optimizer); });
    throw EndOfEvaluation{};
  }
  guarded([&] {
    const In value(loss);
    if (is_repeating_) return repeat(value, &optimizer, !last);
    this->loss = loss;
    this->optimizer = &optimizer;
    minimizes_at_ = location;
    run_hook(Hook::before_backward);
    const bool is_finite = lets_loss(value, &optimizer, location);
    at(location);
    {
      const ProfilePart part("backward");
      gradients_.add(value, optimizer, !last, is_finite);
    }
    run_hook(Hook::after_backward);
    if (is_last_row_) update(optimizer);
  });
}

bool Session::lets_loss(const at::Tensor& loss, const Optimizer* of, const Location& location) {
  if (late.is_on()) {
    late.saw_loss(loss, of, location);
    if (request.trainer.nan == "skip") {
      const at::Tensor is_bad = at::isfinite(loss.detach()).logical_not();
      bad_loss_there_ = bad_loss_there_.defined() ? bad_loss_there_.logical_or(is_bad) : is_bad;
    }
    return true;
  }
  if (gate.is_finite(loss)) return true;
  has_bad_loss_ = true;
  bad_loss_ = location;
  bad_value_ = gate.shown(loss);
  // Several ranks leave together, when all know of it.
  if (world == 1 && request.trainer.nan != "skip") gate.refuse_loss(location, bad_value_);
  return false;
}

void Session::update(Optimizer& optimizer) {
  const ProfilePart part("update");
  const Gradients::Came came = take_gradients(optimizer);
  const NoGrad no_grad;
  if (came.bad > 0) return refuse(optimizer, came);
  // No row came, or none that counts: a stand-in, or one whose tokens are all ignored.
  if (came.rows == 0 || came.share == 0) return optimizer.zero_grad();
  // Batches that are counted by tokens leave a window that is divided by what did come.
  if (std::abs(came.share - 1) > 1e-9) optimizer.scale_grads(1 / came.share);
  clip_and_step(optimizer, came);
}

Gradients::Came Session::take_gradients(Optimizer& optimizer) {
  if (world == 1) return gradients_.take(optimizer);
  const ProfilePart part("sum over ranks");
  return gradients_.take(optimizer);
}

/// As if the rows of all ranks were one batch, whose loss is not finite.
void Session::refuse(Optimizer& optimizer, const Gradients::Came& came) {
  gradients_.forget(optimizer);
  optimizer.zero_grad();
  if (!came.is_bad_here) return gate.refuse_loss_elsewhere();
  gate.refuse_loss(bad_loss_, bad_value_);
}

bool Session::looks_at_gradients() const {
  return request.trainer.check_grads || request.trainer.anomaly || request.trainer.nan != "stop";
}

bool Session::takes_rows() const {
  return is_alone() && !looks_at_gradients() && !hooks_want_norm() && !listeners.has(Hook::after_backward) &&
         !listeners.any(kBeforeClip);
}

void Session::tell_before_clip(const Optimizer& optimizer) {
  if (!is_recorded_) return;
  Named values;
  listeners.each(kBeforeClip, [&](Listener& one) { one.before_clip(optimizer, values); });
  for (auto& [name, value] : values) norms.add(std::move(name), value);
}

void Session::clip_and_step(Optimizer& optimizer, const Gradients::Came& came) {
  this->optimizer = &optimizer;
  if (late.is_on()) return clip_and_step_later(optimizer, came);
  if (const at::Tensor overflow = unscale(optimizer); overflow.defined()) {
    overflows_.erase(&optimizer);
    if (read_number(overflow) != 0) return optimizer.zero_grad();
  }
  Option<double> norm;
  // A hook of the program may ask for the norm, which is then of the true mean gradient.
  if (hooks_want_norm() || looks_at_gradients()) norm = optimizer.measure_norm();
  if (not_finite_.erase(&optimizer) > 0) norm = NAN;
  grad_norm = norm.value_or(NAN);
  run_hook(Hook::before_step);
  tell_before_clip(optimizer);
  if (const Option<double> clipped = optimizer.clip()) {
    norm = clipped;
    if (!request.flags.bare) norms.add("grad_norm/" + optimizer.name(), *clipped);
  }
  if (norm && !gate.lets_update(optimizer.name(), *norm)) {
    optimizer.zero_grad();
  } else if (make_update(optimizer, came)) {
    has_updated_ = true;
    gate.passed();
  }
  forget_casts();
  run_hook(Hook::after_step);
}

void Session::finish_window() {
  while (Optimizer* open = gradients_.next_open()) update(*open);
  buffers_.share();
  scale.end_window();
  late.end_window();
}

void Session::backward(const Tensor& loss, const Location& location) {
  if (is_rehearsed([&](Recorder& recorder) {
        return plan::BackwardOf{recorder.id_of(loss), recorder.ids_of(all_weights(request))};
      }))
    return;
  guarded([&] {
    const In value(loss);
    if (is_repeating_) return repeat(value, nullptr, true);
    this->loss = loss;
    this->optimizer = nullptr;  // which of them will use the gradients is not known here
    run_hook(Hook::before_backward);
    // What unscaled gradients there are, others with the scale cannot be added to.
    if (!overflows_.empty()) {
      throw error_at(location, err::settings_contradict,
                     "precision = f16 takes no `backward` between `clip_norm` and `step`");
    }
    const bool is_finite = lets_loss(value, nullptr, location);
    // Alone, what is not finite is left out at once; several ranks learn of it when they sum.
    if (is_finite || world > 1) {
      const ProfilePart part("backward");
      gradients_.add_manual(value, is_finite);
    } else {
      gate.refuse_loss(location, bad_value_);
    }
    run_hook(Hook::after_backward);
  });
}

void Session::zero_grad(Optimizer& optimizer) {
  if (is_rehearsed([&](Recorder&) { return plan::GradientsZeroed{&optimizer}; })) return;
  not_finite_.erase(&optimizer);
  overflows_.erase(&optimizer);
  norms_later_.erase(&optimizer);
  gradients_.forget(optimizer);
  optimizer.zero_grad();
}

void Session::step(Optimizer& optimizer) {
  if (is_rehearsed(
          [&](Recorder& recorder) { return plan::OptimizerStepped{&optimizer, recorder.ids_of(optimizer.weights())}; }))
    return;
  if (is_repeating_) return;
  guarded([&] {
    const ProfilePart part("update");
    const NoGrad no_grad;
    const Gradients::Came came = gradients_.gather(optimizer);
    if (came.bad > 0) return refuse(optimizer, came);
    clip_and_step(optimizer, came);
    gradients_.forget(optimizer);
  });
}

void Session::clip_norm(Optimizer& optimizer, double limit) {
  if (is_rehearsed([&](Recorder&) { return plan::NormClipped{&optimizer, limit}; })) return;
  guarded([&] {
    const NoGrad no_grad;
    if (gradients_.gather(optimizer).bad > 0) return;  // the step refuses it
    unscale(optimizer);
    if (late.is_on()) {
      norms_later_[&optimizer] = optimizer.clip_norm_later(limit);
      return;
    }
    // The gate waits at the step; what is not finite cannot be clipped.
    if (!std::isfinite(optimizer.clip_norm(limit))) not_finite_.insert(&optimizer);
  });
}

void Session::clip_value(Optimizer& optimizer, double limit) {
  if (is_rehearsed([&](Recorder&) { return plan::ValueClipped{&optimizer, limit}; })) return;
  guarded([&] {
    const NoGrad no_grad;
    if (gradients_.gather(optimizer).bad > 0) return;
    unscale(optimizer);
    optimizer.clip_value(limit);
  });
}

void Session::set_lr(Optimizer& optimizer, double rate) {
  if (is_rehearsed([&](Recorder&) { return plan::RateSet{&optimizer, rate}; })) return;
  optimizer.set_rate(rate);
}

// ---- records that were left out ------------------------------------------------------------------------------

void Session::take_left_out(std::vector<LeftOut> found) {
  if (found.empty()) return;
  write_left_out(left_out.take(std::move(found)), true);
}

void Session::restore_left_out() { write_left_out(left_out.all(), false); }

void Session::write_left_out(const std::vector<LeftOut>& records, bool appends) {
  if (!request.writes() || verb != "fit" || records.empty()) return;
  const Str folder = request.run_dir + "/faults";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::ofstream file(folder + "/bad_records.jsonl", appends ? std::ios::app : std::ios::trunc);
  file << LeftOutRecords::lines(records) << std::flush;
  if (!file) request.progress.warning(fmt::format("cannot write {}/bad_records.jsonl", folder));
}

void Session::share_left_out() {
  if (world == 1) return;
  const std::vector<Str> texts = request.ranks.texts(LeftOutRecords::packed(left_out.unshared()));
  for (const Str& text : texts) take_left_out(LeftOutRecords::unpacked(text));
  left_out.have_shared();
}

void Session::tell_left_out() {
  share_left_out();
  const int64_t before = left_out.told();
  const LeftOut first = left_out.count() > before ? left_out.first_untold() : LeftOut();
  const Str news = left_out.news();
  if (news.empty()) return;
  request.progress.notice(verb == "fit" ? news + "; faults/bad_records.jsonl has all" : news);
  if (request.recorder == nullptr) return;
  request.recorder->event(
      global_step, "left_out",
      fmt::format("\"records\":{},\"in_all\":{},\"first\":{},\"reason\":{}", left_out.count() - before,
                  left_out.count(), doors::json_string(first.place), doors::json_string(first.reason)));
}

void Session::record(Named values) {
  if (request.recorder == nullptr || request.flags.bare || values.empty()) return;
  request.recorder->scalars(global_step, epoch, std::move(values));
}

void Session::finish_epoch(Role role, Hook hook, Named& values) {
  logs.end_epoch(role, values);
  if (!listeners.has(hook)) return;  // ranks need not exchange what cannot be there
  run_hook(hook);
  logs.end_epoch(role, values);
}

const Tensor& Session::into_metric(const char* name, const Tensor& input) {
  if (is_rehearsed([&](Recorder& recorder) { return plan::MetricFed{name, recorder.id_of(input)}; })) return input;
  const bool is_looked_at = input.defined() && keeps_logs();
  if (is_looked_at) guarded([&] { metric_inputs.look(name, stream, batch_index, In(input)); });
  return input;
}

void Session::tell_metric_inputs(Role role) {
  for (const Str& sentence : metric_inputs.tell(role)) request.progress.warning(sentence);
}

double Session::metric(const char* series) {
  refuse_plan(Unplanned::SeriesRead);
  return logs.newest(series);
}

bool due(const Context& cx, const Value& period, bool is_end) {
  const auto count = int64_t(period.kind == Value::Kind::Int ? double(period.whole) : period.real);
  if (count < 1 ||
      (period.kind != Value::Kind::Int && period.kind != Value::Kind::Steps && period.kind != Value::Kind::Epochs)) {
    throw error_here(err::wrong_type, "every", period.to_text(), "a period in steps or epochs");
  }
  if (period.kind == Value::Kind::Epochs) return (cx.epoch + (is_end ? 1 : 0)) % count == 0;
  return cx.global_step % count == 0;
}

// ---- the rest ------------------------------------------------------------------------------------------------

void Session::print(const Str& text) {
  if (is_rehearsed([&](Recorder&) { return plan::Printed{text}; })) return;
  if (!is_stand_in && !is_repeating_) request.progress.print(text);
}

void Session::stop(const Str& reason) {
  if (is_rehearsed([&](Recorder&) { return plan::Stopped{reason}; })) return;
  if (!is_repeating_) outcome.stop("stopped", reason);
}

void Session::end_epoch(const Str& reason) {
  if (is_rehearsed([&](Recorder&) { return plan::EpochEnded{reason}; })) return;
  if (!is_repeating_) ends_epoch = true;
}

void Session::save(const Str& name) {
  if (is_rehearsed([&](Recorder&) { return plan::Saved{name}; })) return;
  if (const Option<Str> wrong = wrong_checkpoint_name(name))
    throw error_here(err::settings_contradict, fmt::format("save(\"{}\"): {}", name, *wrong));
  if (!is_repeating_) saves.push_back(name);
}

void Session::output(Outputs values) {
  if (is_rehearsed([&](Recorder& recorder) {
        plan::OutputGiven given;
        for (const Output& one : values) given.values.push_back({one.name, recorder.id_of(one.value), one.is_texts});
        return given;
      }))
    return;
  predicted = std::move(values);
}

}  // namespace ltr
