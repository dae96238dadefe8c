// `plateau`: the rate falls when a series stands still.

#include <algorithm>
#include <cmath>

#include "runtime/optim/schedule_call.h"

namespace ltr::optim {

Plateau::Plateau(const ScheduleCall& arguments) {
  location_ = arguments.location();
  monitor_ = arguments.symbol("monitor", "");
  const Str mode = arguments.symbol("mode", "auto");
  is_max_ = mode == "max";
  wants_direction_ = mode == "auto";
  is_relative_ = arguments.symbol("threshold_mode", "rel") == "rel";
  factor_ = arguments.number("factor", 0.1);
  patience_ = int64_t(arguments.number("patience", 10));
  threshold_ = arguments.number("threshold", 1e-4);
  cooldown_ = int64_t(arguments.number("cooldown", 0));
  min_lr_ = arguments.number("min_lr", 0);
  eps_ = arguments.number("eps", 1e-8);
}

double Plateau::rate(int64_t, double base) const {
  const double scaled = std::max(base * scale_, min_lr_);
  return std::min(scaled, std::max(base, min_lr_));
}

bool Plateau::is_better(double value) const {
  if (std::isnan(value)) return false;
  if (!has_best_) return true;
  if (is_relative_) {
    return is_max_ ? value > best_ * (1 + threshold_) : value < best_ * (1 - threshold_);
  }
  return is_max_ ? value > best_ + threshold_ : value < best_ - threshold_;
}

bool Plateau::take(double value) {
  if (is_better(value)) {
    best_ = value;
    has_best_ = true;
    bad_ = 0;
  } else {
    bad_++;
  }
  if (cooling_ > 0) {
    cooling_--;
    bad_ = 0;
  }
  if (bad_ <= patience_) return false;
  cooling_ = cooldown_;
  bad_ = 0;
  // A fall of less than `eps` is none.
  if (scale_ - scale_ * factor_ <= eps_ * scale_) return false;
  scale_ *= factor_;
  return true;
}

void Plateau::visit(Archive& archive) {
  archive.value("scale", scale_);
  archive.value("best", best_);
  archive.value("has_best", has_best_);
  archive.value("bad", bad_);
  archive.value("cooling", cooling_);
}

}  // namespace ltr::optim
