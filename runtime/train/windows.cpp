#include "runtime/train/windows.h"

#include <algorithm>
#include <cmath>

#include "runtime/api/error.h"

namespace ltr {

Windows::Windows(const TrainerSettings& settings, int64_t batch_size, std::function<int64_t(int64_t epoch)> batches)
    : accumulate_(settings.accumulate), batches_(std::move(batches)) {
  if (settings.global_batch > 0) {
    if (accumulate_.kind != Value::Kind::Int || accumulate_.as_int() != 1)
      throw error_here(err::settings_contradict, "accumulate follows from global_batch: one of them is given");
    if (batch_size <= 0 || settings.global_batch % batch_size != 0) {
      throw error_here(err::does_not_divide, fmt::format("the batch size {}", batch_size),
                       fmt::format("global_batch = {}", settings.global_batch));
    }
    accumulate_ = settings.global_batch / batch_size;
  }
  const auto refuse = [&](const Value& value, const char* rule) {
    throw error_here(err::out_of_range, "trainer.accumulate", value.to_text(), rule);
  };
  if (accumulate_.kind == Value::Kind::Int) {
    constant_ = accumulate_.as_int();
    if (constant_ < 1) refuse(accumulate_, "accumulate >= 1");
  } else if (accumulate_.kind == Value::Kind::Call && accumulate_.text == "by_epoch") {
    int64_t next = 0;
    for (const Argument& pair : accumulate_.items[0].value.items) {
      const int64_t epoch = pair.value.items[0].value.as_int();
      if (epoch < next) refuse(accumulate_, "epochs from 0 that rise");
      if (pair.value.items[1].value.as_int() < 1) refuse(accumulate_, "at least 1 batch");
      next = epoch + 1;
    }
  } else if (accumulate_.kind == Value::Kind::Call && accumulate_.text == "ramp") {
    const Value& over = *accumulate_.find("over");
    if (over.kind != Value::Kind::Steps && over.kind != Value::Kind::Epochs)
      refuse(accumulate_, "over steps or epochs");
    if (accumulate_.find("from")->as_int() < 1 || accumulate_.find("to")->as_int() < 1)
      refuse(accumulate_, "at least 1 batch");
  } else {
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
    for (const Argument& pair : accumulate_.items[0].value.items) {
      if (pair.value.items[0].value.as_int() <= epoch) rows = pair.value.items[1].value.as_int();
    }
    return rows;
  }
  const double from = accumulate_.find("from")->as_float();
  const double to = accumulate_.find("to")->as_float();
  const Value& over = *accumulate_.find("over");
  const double done = over.kind == Value::Kind::Epochs ? double(epoch) : double(global_step);
  const double share = over.real > 0 ? std::min(done / over.real, 1.0) : 1;
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
