#include "runtime/train/agreement.h"

#include <algorithm>

#include "runtime/train/packed.h"
#include "runtime/train/signals.h"

namespace ltr {

namespace {

constexpr double kApart_s = 1;
constexpr int64_t kMostApart = 10000;

}  // namespace

void Pace::begin() {
  set(1);
  met_ = Times::Clock::now();
}

int64_t Pace::proposed() {
  const double since_s = std::max(seconds_since(met_), 1e-6);
  met_ = Times::Clock::now();
  return std::clamp(int64_t(double(apart_) * kApart_s / since_s), int64_t(1), std::min(2 * apart_, kMostApart));
}

void Agreement::begin(bool at_every_window, Times& times) {
  times_ = &times;
  at_every_window_ = at_every_window;
  windows_.begin();
  if (ranks_.world() > 1) meet();
}

void Agreement::after_window() {
  if (ranks_.world() > 1 && windows_.is_due()) meet();
}

void Agreement::watch(std::function<bool()> is_over) {
  watched_ = std::move(is_over);
  is_over_ = false;
}

bool Agreement::is_over() const { return ranks_.world() == 1 ? watched_ && watched_() : is_over_; }

int Agreement::signal() const { return ranks_.world() == 1 ? SignalWatch::received() : signal_; }

void Agreement::begin_round(bool is_together) {
  is_called_off_ = false;
  is_together_ = is_together && ranks_.world() > 1;
  batches_.begin();
}

bool Agreement::calls_off() {
  const bool is_here = SignalWatch::received() != 0;
  if (is_called_off_ || ranks_.world() == 1) return is_called_off_ = is_here || is_called_off_;
  if (is_together_) return batches_.is_due() && meet_in_round(is_here);
  if (is_here) ranks_.hurry();
  return is_called_off_ = is_here || ranks_.is_hurried();
}

bool Agreement::meet_in_round(bool is_here) {
  Str own;
  pack(own, int64_t(is_here));
  pack(own, batches_.proposed());
  const std::vector<Str> all = ranks_.texts(own);
  for (size_t rank = 0; rank < all.size(); rank++) {
    Unpacking from(all[rank]);
    is_called_off_ = from.number() != 0 || is_called_off_;
    if (rank == 0) batches_.set(from.number());
  }
  return is_called_off_;
}

void Agreement::meet() {
  if (ranks_.world() == 1) return;
  const int64_t apart = at_every_window_ ? 1 : windows_.proposed();
  const double clock_s = times_ != nullptr ? times_->own_s() : 0;
  Str own;
  pack(own, int64_t(SignalWatch::received()));
  pack(own, apart);
  pack(own, clock_s);
  pack(own, int64_t(asked_.ends_epoch));
  pack(own, int64_t(asked_.outcome.is_stopping));
  pack(own, asked_.outcome.outcome);
  pack(own, asked_.outcome.reason);
  pack(own, int64_t(watched_ && watched_()));
  pack(own, int64_t(asked_.saves.size()));
  for (const Str& name : asked_.saves) pack(own, name);
  const std::vector<Str> all = ranks_.texts(own);
  asked_.saves.clear();
  is_over_ = true;
  for (size_t rank = 0; rank < all.size(); rank++) {
    Unpacking from(all[rank]);
    signal_ = std::max(signal_, int(from.number()));
    const int64_t rank_apart = from.number();
    const double rank_clock_s = from.real();
    if (rank == 0) windows_.set(rank_apart);
    if (rank == 0 && times_ != nullptr) times_->agreed_s = rank_clock_s;
    asked_.ends_epoch = from.number() != 0 || asked_.ends_epoch;
    const bool stops = from.number() != 0;
    Str outcome(from.text()), reason(from.text());
    if (stops) asked_.outcome.stop(std::move(outcome), std::move(reason));
    is_over_ = from.number() != 0 && is_over_;
    for (int64_t left = from.number(); left > 0; left--) {
      const Str name(from.text());
      if (std::find(asked_.saves.begin(), asked_.saves.end(), name) == asked_.saves.end()) asked_.saves.push_back(name);
    }
  }
}

}  // namespace ltr
