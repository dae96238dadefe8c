#include "runtime/train/windows.h"

#include <algorithm>
#include <cmath>

#include "runtime/api/error.h"

namespace ltr {

Windows::Windows(const TrainerSettings& settings, int64_t batch_size, std::function<int64_t(int64_t epoch)> batches)
    : accumulate_(settings.accumulate), batches_(std::move(batches)) {
  if (settings.global_batch > 0) {
    if (batch_size <= 0 || settings.global_batch % batch_size != 0) {
      throw error_here(err::does_not_divide, fmt::format("the batch size {}", batch_size),
                       fmt::format("global_batch = {}", settings.global_batch));
    }
    accumulate_ = settings.global_batch / batch_size;
  }
  if (accumulate_.kind == Value::Kind::Int) {
    constant_ = accumulate_.as_int();
    if (constant_ < 1) throw error_here(err::out_of_range, "trainer.accumulate", constant_, "accumulate >= 1");
  } else if (accumulate_.kind != Value::Kind::Call || (accumulate_.text != "by_epoch" && accumulate_.text != "ramp")) {
    throw error_here(err::wrong_type, "trainer.accumulate", accumulate_.to_text(), "an int, by_epoch(…) or ramp(…)");
  }
  if (settings.epochs >= 0) planned_ = int64_t(std::llround(updates(double(settings.epochs))));
  if (settings.steps >= 0) planned_ = planned_ < 0 ? settings.steps : std::min(planned_, settings.steps);
}

int64_t Windows::rows(int64_t epoch, int64_t global_step) const {
  if (constant_ > 0) return constant_;
  if (accumulate_.text == "by_epoch") {
    // The pair with the latest epoch that has begun.
    int64_t rows = 1;
    for (const Argument& pair : accumulate_.items.empty() ? accumulate_.items : accumulate_.items[0].value.items) {
      if (pair.value.items.size() == 2 && pair.value.items[0].value.as_int() <= epoch) {
        rows = pair.value.items[1].value.as_int();
      }
    }
    return std::max<int64_t>(rows, 1);
  }
  const double from = accumulate_.items.size() > 0 ? accumulate_.items[0].value.as_float() : 1;
  const double to = accumulate_.items.size() > 1 ? accumulate_.items[1].value.as_float() : from;
  const Value* over = accumulate_.find("over");
  const double length = over != nullptr ? std::max(over->kind == Value::Kind::Int ? double(over->whole) : over->real, 1.0) : 1;
  const double share = std::min(double(global_step) / length, 1.0);
  return std::max<int64_t>(int64_t(std::llround(from + (to - from) * share)), 1);
}

int64_t Windows::updates_of(int64_t epoch, int64_t global_step) const {
  int64_t updates = 0;
  for (int64_t left = batches_(epoch); left > 0; updates++) left -= rows(epoch, global_step + updates);
  return updates;
}

double Windows::updates(double epochs) const {
  const auto whole = int64_t(epochs);
  const double part = epochs - double(whole);
  if (constant_ > 0) {
    const int64_t batches = batches_(0);
    return double((batches + constant_ - 1) / constant_) * epochs;
  }
  int64_t updates = 0;
  for (int64_t epoch = 0; epoch < whole; epoch++) updates += updates_of(epoch, updates);
  return double(updates) + (part > 0 ? part * double(updates_of(whole, updates)) : 0);
}

}  // namespace ltr
