#include "runtime/train/session.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ltr/operators.h"
#include "runtime/loggers/logger.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"
#include "runtime/train/image.h"

namespace ltr {

namespace {

double number(const Tensor& value) {
  const In tensor(value);
  if (tensor->numel() == 1 && tensor->is_cpu()) {
    if (tensor->scalar_type() == at::kFloat) return double(*tensor->const_data_ptr<float>());
    if (tensor->scalar_type() == at::kDouble) return *tensor->const_data_ptr<double>();
  }
  return value.item();
}

const CallbackInfo* find_callback(const Program& program, const Str& name) {
  for (const CallbackInfo& info : program.callbacks) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

}  // namespace

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

Session::Session(RunRequest& run_request, std::vector<Role> roles)
    : request(run_request),
      logs(run_request.program, run_request.data, slots_of(run_request, roles)),
      gradients(run_request.root) {
  run_dir = request.run_dir;
  run_name = request.run_name;
  std::unordered_map<Str, int> instances;
  for (const Value& call : request.callbacks) {
    const CallbackInfo* info = find_callback(request.program, call.text);
    if (info == nullptr) continue;
    const Str key = fmt::format("{}#{}", call.text, instances[call.text]++);
    hooks.add({key, info, std::unique_ptr<Callback>(info->make(call, request.model))});
  }
}

Session::~Session() = default;

void Session::run_step(const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t batch_number) {
  stream = int64_t(stream_index);
  batch_size = batch.size;
  // Only a key is set here: a generator is made when something draws.
  seed_random(random_key(uint64_t(request.trainer.seed), "step",
                         {uint64_t(info.role), stream_index, batch_number, uint64_t(rank)}));
  forget_casts();
  info.run(request.model, *this, batch, request.predict_params);
}

// ---- gradients -----------------------------------------------------------------------------------------------

void Session::not_finite(const Fault& fault, const Str& what) {
  if (request.trainer.nan == "skip") {
    skipped++;
    if (++skipped_in_row_ >= request.trainer.nan_limit) throw error_here(err::too_many_skipped, skipped_in_row_);
    return;
  }
  throw error_here(fault, what, global_step);
}

bool Session::accepts(const at::Tensor& loss, const Location& location) {
  if (request.flags.bare) return true;
  const double value = loss.numel() == 1 && loss.scalar_type() == at::kFloat && loss.is_cpu()
                           ? double(*loss.const_data_ptr<float>())
                           : loss.detach().sum().item<double>();
  if (std::isfinite(value)) [[likely]] return true;
  at(location);
  not_finite(err::loss_not_finite, fmt::format("{}", value));
  return false;
}

void Session::minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) {
  guarded([&] {
    const In value(loss);
    Reached* reached = nullptr;
    for (Reached& one : reached_) {
      if (one.optimizer == &optimizer) reached = &one;
    }
    if (reached == nullptr) reached = &reached_.emplace_back(Reached{&optimizer, 0, 0});
    this->loss = loss;
    this->optimizer = &optimizer;
    run_hook(Hook::before_backward);
    if (accepts(value, location)) {
      at(location);
      gradients.run(value, share_, &optimizer, !last);
      reached->share += share_;
      reached->rows++;
    }
    run_hook(Hook::after_backward);
    if (is_last_row_) update(optimizer);
  });
}

void Session::update(Optimizer& optimizer) {
  const auto reached = std::find_if(reached_.begin(), reached_.end(),
                                    [&](const Reached& one) { return one.optimizer == &optimizer; });
  const int64_t rows = reached->rows;
  const double share = reached->share;
  reached_.erase(reached);
  const NoGrad no_grad;
  if (rows == 0) {
    optimizer.zero_grad();
    return;
  }
  // Batches that were skipped, or counted by tokens, leave a window that is divided by what did come.
  if (std::abs(share - 1) > 1e-9) {
    for (const Weight& weight : optimizer.weights()) {
      const at::Tensor& grad = In(weight.tensor)->grad();
      if (grad.defined()) grad.mul_(1 / share);
    }
  }
  this->optimizer = &optimizer;
  grad_norm = wants_norm() ? optimizer.measure_norm() : NAN;
  run_hook(Hook::before_step);
  const double norm = measured_clip(optimizer);
  const bool is_bad = !request.flags.bare && ((norm >= 0 && !std::isfinite(norm)) ||
                                              (request.trainer.check_grads && !optimizer.grads_are_finite()));
  if (is_bad) {
    optimizer.zero_grad();
    not_finite(err::gradient_not_finite, optimizer.name());
  } else {
    optimizer.step(global_step);
    has_updated_ = true;
    skipped_in_row_ = 0;
  }
  run_hook(Hook::after_step);
}

double Session::measured_clip(Optimizer& optimizer) {
  if (measure_grads) measure_grads(optimizer, grad_norms);
  const double norm = optimizer.clip();
  if (norm >= 0) grad_norms.emplace_back("grad_norm/" + optimizer.name(), norm);
  return norm;
}

void Session::finish_window() {
  while (!reached_.empty()) update(*reached_.front().optimizer);
}

void Session::backward(const Tensor& loss, const Location& location) {
  guarded([&] {
    const In value(loss);
    this->loss = loss;
    run_hook(Hook::before_backward);
    if (accepts(value, location)) gradients.run(value, 1, nullptr, true);
    run_hook(Hook::after_backward);
  });
}

void Session::zero_grad(Optimizer& optimizer) { optimizer.zero_grad(); }

void Session::step(Optimizer& optimizer) {
  guarded([&] {
    const NoGrad no_grad;
    this->optimizer = &optimizer;
    grad_norm = wants_norm() ? optimizer.measure_norm() : NAN;
    run_hook(Hook::before_step);
    measured_clip(optimizer);
    optimizer.step(global_step);
    run_hook(Hook::after_step);
  });
}

void Session::clip_norm(Optimizer& optimizer, double limit) {
  guarded([&] {
    const NoGrad no_grad;
    optimizer.clip_norm(limit);
  });
}

void Session::clip_value(Optimizer& optimizer, double limit) {
  guarded([&] {
    const NoGrad no_grad;
    optimizer.clip_value(limit);
  });
}

void Session::set_lr(Optimizer& optimizer, double rate) { optimizer.set_rate(rate); }

// ---- log -----------------------------------------------------------------------------------------------------

void Session::log(int slot, const Tensor& value) { logs.add(slot, size_t(stream), number(value), weight_); }

void Session::log(int slot, double value) { logs.add(slot, size_t(stream), value, weight_); }

void Session::log(int slot, Metric& metric) { logs.add(slot, size_t(stream), metric); }

void Session::log_image(int slot, Metric& metric) { logs.add(slot, size_t(stream), metric); }

Str Session::tag_of(int slot) const {
  const LogInfo& info = request.program.logs[size_t(slot)];
  return fmt::format("{}/{}", role_name(info.role), info.name);
}

void Session::log_image(int slot, const Tensor& image) {
  if (request.recorder == nullptr || request.flags.bare) return;
  guarded([&] { request.recorder->image(global_step, tag_of(slot), image_of(In(image))); });
}

void Session::log_histogram(int slot, const Tensor& values) {
  if (request.recorder == nullptr || request.flags.bare) return;
  guarded([&] {
    const at::Tensor flat = In(values)->detach().to(at::kDouble).flatten().contiguous();
    const double* data = flat.const_data_ptr<double>();
    request.recorder->histogram(global_step, tag_of(slot), std::vector<double>(data, data + flat.numel()));
  });
}

void Session::log_text(int slot, const Str& text) {
  if (request.recorder != nullptr && !request.flags.bare) request.recorder->text(global_step, tag_of(slot), text);
}

void Session::record(Named values) {
  if (request.recorder == nullptr || request.flags.bare || values.empty()) return;
  request.recorder->scalars(global_step, epoch, std::move(values));
}

void Session::record_images() {
  for (auto& [tag, value] : logs.take_images()) {
    if (request.recorder == nullptr || request.flags.bare) continue;
    guarded([&] { request.recorder->image(global_step, tag, heat_map(In(value))); });
  }
}

double Session::metric(const char* series) { return logs.newest(series); }

bool due(const Context& cx, const Value& period, bool is_end) {
  const auto count = int64_t(period.kind == Value::Kind::Int ? double(period.whole) : period.real);
  if (count < 1 || (period.kind != Value::Kind::Int && period.kind != Value::Kind::Steps && period.kind != Value::Kind::Epochs)) {
    throw error_here(err::wrong_type, "every", period.to_text(), "a period in steps or epochs");
  }
  if (period.kind == Value::Kind::Epochs) return (cx.epoch + (is_end ? 1 : 0)) % count == 0;
  return cx.global_step % count == 0;
}

// ---- the rest ------------------------------------------------------------------------------------------------

void Session::print(const Str& text) { request.progress.print(text); }

void Session::stop(const Str& reason) {
  wants_stop = true;
  stop_reason = reason;
}

void Session::end_epoch(const Str&) { ends_epoch = true; }

void Session::save(const Str& name) { saves.push_back(name); }

void Session::output(const Tensor& value) { predicted = value; }

}  // namespace ltr
