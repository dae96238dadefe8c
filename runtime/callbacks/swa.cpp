#include "runtime/callbacks/swa.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/train/late_gate.h"
#include "runtime/train/norm_pass.h"

namespace ltr {

Swa::Swa(const Value& call, RootState& root)
    : root_(root),
      averages_(root),
      lr_(float_argument(call, "lr", 0)),
      anneal_(10),
      in_steps_(false),
      is_cosine_(text_argument(call, "strategy", "cos") == "cos") {
  const Value* anneal = argument(call, "anneal");
  if (anneal == nullptr) return;
  in_steps_ = anneal->kind == Value::Kind::Steps;
  if (!in_steps_ && anneal->kind != Value::Kind::Epochs)
    throw error_at(call.location, err::wrong_type, "callbacks.Swa.anneal", anneal->to_text(), "steps or epochs");
  anneal_ = anneal->real;
}

void Swa::begin(int64_t epoch, int64_t step) {
  first_epoch_ = epoch;
  first_step_ = step;
  rates_.clear();
  for (const auto& optimizer : root_.optimizers) {
    for (const Optimizer::GroupNumbers& group : optimizer->group_numbers(step)) rates_.push_back(group.rate);
  }
}

double Swa::way(int64_t epoch, int64_t step) const {
  const double done = double(in_steps_ ? step - first_step_ : epoch - first_epoch_);
  const double part = anneal_ > 0 ? std::min(1.0, done / anneal_) : 1;
  return is_cosine_ ? (1 - std::cos(std::numbers::pi * part)) / 2 : part;
}

void Swa::set_rates(int64_t epoch, int64_t step) const {
  const double done = way(epoch, step);
  size_t next = 0;
  for (const auto& optimizer : root_.optimizers) {
    std::vector<double> rates;
    for (size_t i = optimizer->group_numbers(step).size(); i > 0 && next < rates_.size(); i--)
      rates.push_back(lr_ * done + rates_[next++] * (1 - done));
    optimizer->set_group_rates(rates);
  }
}

void Swa::take_in(const at::Tensor& is_stopped) {
  averages_.take_in(1.0 / double(averages_.updates() + 1), false, is_stopped);
}

void Swa::visit(Archive& archive) {
  archive.value("first_epoch", first_epoch_);
  archive.value("first_step", first_step_);
  archive.list("rates", rates_, [&](double& rate) { archive.value("rate", rate); });
  averages_.visit(archive);
}

namespace {

/// What is before its first epoch: a part of the planned training, epochs or steps.
Value start_of(const Value& call) {
  const Value* start = argument(call, "start");
  return start != nullptr ? *start : Value(0.8);
}

/// The updates before its first epoch; -1 if that is a part of a training whose length is not known. R2003 for seconds.
double updates_before(const Value& call, const Windows& windows) {
  const Value start = start_of(call);
  switch (start.kind) {
    case Value::Kind::Epochs: return windows.updates(start.real);
    case Value::Kind::Steps: return std::floor(start.real);
    case Value::Kind::Seconds:
      throw error_at(call.location, err::wrong_type, "callbacks.Swa.start", start.to_text(),
                     "a part of training, epochs or steps");
    default: return windows.hung_on() < 0 ? -1 : start.as_float() * double(windows.planned());
  }
}

class SwaListener : public Listener {
 public:
  SwaListener(const Value& call, const FitView& view) : swa_(call, view.request.root.state()), view_(view) {
    first_ = std::ceil(updates_before(call, view.windows) - 1e-9);
  }
  uint32_t interests() const override { return kAfterWindow | kEvaluating | kFresh; }
  // A run that goes on inside an epoch does not meet its start.
  std::vector<Hook> hooks() const override { return {Hook::train_start, Hook::train_epoch_start}; }

  void hear(Hook hook, Context&) override {
    const bool begins = hook == Hook::train_epoch_start && !swa_.has_begun() && double(view_.at.global_step) >= first_;
    if (begins) swa_.begin(view_.at.epoch, view_.at.global_step);
    if (swa_.has_begun()) swa_.set_rates(view_.at.epoch, view_.at.global_step);
    // What a signal cut off.
    if (hook == Hook::train_start) find_norms_aside();
  }

  void after_window() override {
    if (!swa_.has_begun()) return;
    swa_.set_rates(view_.at.epoch, view_.at.global_step);
    const bool is_over = view_.at.batch >= view_.feed.batches(view_.at.epoch) || view_.at.ends_epoch;
    if (!is_over) return;
    swa_.take_in(view_.late.is_stopped());
    are_norms_due_ = true;
  }

  void evaluating(bool begins) override {
    if (!begins) return swa_.averages().put_back();
    swa_.averages().put_in_place();
    find_norms();
  }

  // An epoch without a round ends with averages that can be evaluated, too.
  void fresh(Role role) override {
    if (role == Role::Train) find_norms_aside();
  }

  void visit(Archive& archive) override {
    swa_.visit(archive);
    archive.value("are_norms_due", are_norms_due_);
  }
  bool has_state() const override { return true; }

 private:
  /// The averages are in place.
  void find_norms() {
    if (!are_norms_due_) return;
    NormPass pass(view_.request);
    are_norms_due_ = !pass.run(view_.at, view_.cx.epoch);
    if (!are_norms_due_) swa_.averages().keep(pass.buffers());
    swa_.averages().put_again();
  }

  void find_norms_aside() {
    if (!are_norms_due_) return;
    const auto begin = Times::Clock::now();
    swa_.averages().put_in_place();
    find_norms();
    swa_.averages().put_back();
    view_.times.val_s += seconds_since(begin);  // Within a round it is the round's.
  }

  Swa swa_;
  FitView view_;
  double first_;  ///< updates before it
  bool are_norms_due_ = false;
};

/// R2006 where no whole epoch lies behind the start.
void check_start(const Value& call, const FitView& view) {
  const auto planned = double(view.windows.planned());
  const double before = updates_before(call, view.windows);
  if (before < 0) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             "Swa starts at a part of training, whose length is not known: only time ends it"),
                    "say after how many epochs, `start = 10 epochs`, or give trainer.epochs or trainer.steps, too");
  }
  if (planned < 0) return;
  double epoch = 0;
  while (view.windows.updates(epoch) < before - 1e-9) epoch++;
  if (view.windows.updates(epoch + 1) <= planned) return;
  throw with_help(
      error_at(call.location, err::settings_contradict,
               fmt::format("Swa would average nothing: no epoch begins behind {} and ends in training",
                           start_of(call).kind == Value::Kind::Float ? start_of(call).to_text() + " of training"
                                                                     : start_of(call).to_text())),
      "start earlier, or train for more epochs");
}

}  // namespace

ListenerPtr make_swa(const Value& call, const FitView& view) {
  // A dev run is over before it begins.
  if (view.request.flags.fast_dev_run > 0) return nullptr;
  check_start(call, view);
  return std::make_unique<SwaListener>(call, view);
}

}  // namespace ltr
