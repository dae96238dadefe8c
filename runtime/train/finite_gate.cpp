#include "runtime/train/finite_gate.h"

#include <ATen/ATen.h>

#include <cmath>

#include "runtime/api/error.h"
#include "runtime/optim/optimizer.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

double number_of(const at::Tensor& loss) {
  // A loss that is no scalar is refused by the backward pass, in better words.
  return loss.numel() == 1 && !comes_later(loss) ? number_in_memory(loss) : read_number(loss.detach().sum());
}

}  // namespace

bool FiniteGate::is_finite(const at::Tensor& loss) const {
  return request_.flags.bare || std::isfinite(number_of(loss));
}

Str FiniteGate::shown(const at::Tensor& loss) { return shown(number_of(loss)); }

Str FiniteGate::shown(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}  // no sign of a nan

void FiniteGate::refuse_loss_elsewhere(Option<int64_t> step) {
  try {
    refuse_loss({}, "not finite on another rank", step);
  } catch (const Error& error) {
    throw of_another(error);
  }
}

void FiniteGate::refuse_loss(const Location& location, const Str& value, Option<int64_t> step) {
  at(location);
  refuse(err::loss_not_finite, value, step);
}

void FiniteGate::refuse_update(const Str& optimizer, Option<int64_t> step) {
  refuse(err::gradient_not_finite, optimizer, step);
}

bool FiniteGate::lets_update(const Str& optimizer, double norm) {
  if (request_.flags.bare || std::isfinite(norm)) return true;
  refuse_update(optimizer);
  return false;
}

void FiniteGate::check_weights() const {
  if (request_.flags.bare) return;
  const Division* division = request_.root.state().division.get();
  std::vector<at::Tensor> values, sums;
  std::vector<Str> paths;
  for (const auto& optimizer : request_.root.state().optimizers) {
    for (const Weight& weight : optimizer->weights()) {
      const at::Tensor own = request_.root.state().own(aten(weight.tensor));
      paths.push_back(weight.path);
      values.push_back(own);
      if (own.defined()) sums.push_back(own.sum().to(at::kDouble));
    }
  }
  if (paths.empty()) return;
  // A sum is finite only if all of its numbers are, and takes one pass. One that is not may be of finite numbers all the same.
  const bool is_sound = sums.empty() || read_number(at::stack(sums).isfinite().all()) != 0;
  // The first one that is not, as a number that the ranks find the least of.
  double first = INFINITY;
  for (size_t i = 0; !is_sound && std::isinf(first) && i < values.size(); i++) {
    if (values[i].defined() && read_number(values[i].isfinite().all()) == 0) first = double(i);
  }
  if (division != nullptr) division->holders().least({&first, 1});
  if (std::isinf(first)) return;
  throw with_help(error_at({}, err::weight_not_finite, paths[size_t(first)], step_),
                  "`check_grads = true` stops at the step whose gradient it was");
}

void FiniteGate::refuse(const Fault& fault, const Str& what, Option<int64_t> step) {
  if (request_.trainer.nan != "skip") {
    const Error error = error_here(fault, what, step.value_or(step_ + 1));  // the step that is under way
    if (request_.trainer.nan == "raise") throw error;                       // the batch is repeated, which says more
    throw with_help(
        error, "--set trainer.nan=raise names the operation that makes it; the batch is kept in faults/ of the run");
  }
  skipped_++;
  if (++skipped_in_row_ >= request_.trainer.nan_limit) throw error_here(err::too_many_skipped, skipped_in_row_);
}

void FiniteGate::visit(Archive& archive) {
  archive.value("skipped", skipped_);
  archive.value("skipped_in_row", skipped_in_row_);
}

}  // namespace ltr
