#include "runtime/tensor/mode.h"

#include <c10/core/GradMode.h>

#include <utility>

#include "ltr/operators.h"

namespace ltr {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local bool training = false;

/// Read by threads that compute blocks again; written between steps.
std::unordered_set<const void*>& resting() {
  static std::unordered_set<const void*> buffers;
  return buffers;
}

}  // namespace

void let_rest(std::unordered_set<const void*> buffers) { resting() = std::move(buffers); }

bool rests(const void* buffer) { return !resting().empty() && resting().contains(buffer); }

bool is_training() { return training; }

bool set_training(bool value) { return std::exchange(training, value); }

ModeScope::ModeScope(bool train, bool gradients)
    : was_training_(set_training(train)), had_gradients_(c10::GradMode::is_enabled()) {
  c10::GradMode::set_enabled(gradients);
}

ModeScope::~ModeScope() {
  set_training(was_training_);
  c10::GradMode::set_enabled(had_gradients_);
}

NoGrad::NoGrad() : was_enabled_(c10::GradMode::is_enabled()) { c10::GradMode::set_enabled(false); }

NoGrad::~NoGrad() { c10::GradMode::set_enabled(was_enabled_); }

}  // namespace ltr
