// `Notify` of runtime.md 3.3: what a chat or server is told of a run.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "doors/number.h"
#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/callbacks/messenger.h"
#include "runtime/callbacks/series.h"
#include "runtime/train/signals.h"

namespace ltr {

namespace {

Error refused(const Value& call, const Str& what, const Str& help) {
  return with_help(error_at(call.location, err::settings_contradict, "Notify: " + what), help);
}

/// `slack(env("SLACK_WEBHOOK"))`: the address itself is nowhere but in the environment.
Receiver receiver_of(const Value& call) {
  const Str form = "to = slack(env(\"SLACK_WEBHOOK\")), or teams, discord, webhook";
  const Value* to = argument(call, "to");
  constexpr const char* kServices[] = {"slack", "teams", "discord", "webhook"};
  const bool is_known = to != nullptr && to->kind == Value::Kind::Call && to->items.size() == 1 &&
                        std::ranges::any_of(kServices, [&](const char* one) { return to->text == one; });
  const Value* variable = is_known ? &to->items[0].value : nullptr;
  const bool is_variable = variable != nullptr && variable->kind == Value::Kind::Call && variable->text == "env" &&
                           variable->items.size() == 1;
  if (!is_variable) throw refused(call, "to is an address of the environment", form);
  const Str name = variable->items[0].value.as_str();
  const char* address = std::getenv(name.c_str());
  if (address == nullptr || *address == 0)
    throw refused(call, fmt::format("the environment has no {}", name), fmt::format("export {}=https://…", name));
  const Str text = address;
  if (!text.starts_with("https://") && !text.starts_with("http://"))
    throw refused(call, fmt::format("{} holds no address", name), "it begins with https:// or http://");
  return {to->text, text};
}

Str host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

Str utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Str of_all(int64_t done, int64_t all) { return all > 0 ? fmt::format("{} of {}", done, all) : std::to_string(done); }

Str duration_text(double seconds) {
  const auto s = int64_t(std::max(seconds, 0.0));
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

class Notify : public Listener {
 public:
  Notify(const Value& call, const FitView& view)
      : view_(view), messenger_(receiver_of(call)), first_step_(view.at.global_step) {
    const Value* on = argument(call, "on");
    for (const char* event : {"start", "finish", "fail", "best"}) {
      const bool is_listed =
          on == nullptr || std::ranges::any_of(on->items, [&](const Argument& one) { return one.value.text == event; });
      if (is_listed) on_.emplace_back(event);
    }
    const Value* every = call.find("every");
    every_s_ = every == nullptr ? 30 * 60 : every->is_none() ? INFINITY : every->real;
    for (const Value& other : view.request.callbacks) {
      const Str monitor = text_argument(other, "monitor", "");
      const bool is_built_in = other.text == "Checkpoint" || other.text == "EarlyStop";
      if (!is_built_in || monitor.empty() || !monitor_.empty()) continue;
      monitor_ = monitor;
      is_max_ = is_max(view.logs, monitor, text_argument(other, "mode", "auto"), other.location);
    }
  }

  uint32_t interests() const override { return kRecorded | kFresh | kEpochEnd; }
  std::vector<Hook> hooks() const override { return {Hook::train_start, Hook::fit_end, Hook::failure}; }

  void hear(Hook hook, Context& cx) override {
    if (hook == Hook::train_start) {
      first_step_ = view_.at.global_step;
      told_ = begin_ = Times::Clock::now();
      tell("start");
      return;
    }
    if (hook == Hook::failure) {
      tell("fail", cx.code + ": " + cx.reason.substr(0, cx.reason.find('\n')));
    } else {
      tell("finish");
    }
    messenger_.finish();
    warn();
  }

  void recorded(Named&) override {
    if (seconds_since(told_) >= every_s_) tell("progress");
  }

  void fresh(Role role) override {
    if (monitor_.empty() || !is_of(monitor_, role)) return;
    const double value = view_.logs.newest(monitor_);
    const bool is_better = !std::isnan(value) && (std::isnan(best_) || (is_max_ ? value > best_ : value < best_));
    if (!is_better) return;
    best_ = value;
    best_step_ = view_.at.global_step;
    tell("best");
  }

  void epoch_end() override { warn(); }

  void visit(Archive& archive) override {
    archive.value("best", best_);
    archive.value("best_step", best_step_);
  }
  bool has_state() const override { return true; }

 private:
  void tell(const Str& event, const Str& reason = "") {
    const bool is_wanted = event == "progress" || std::ranges::find(on_, event) != on_.end();
    if (!is_wanted) return;
    told_ = Times::Clock::now();
    messenger_.tell(message(event, reason));
  }

  void warn() {
    if (const Str problem = messenger_.take_problem(); !problem.empty()) view_.request.progress.warning(problem);
  }

  doors::Notification message(const Str& event, const Str& reason) {
    doors::Notification one;
    one.experiment = view_.request.experiment.name;
    one.run = view_.request.run_name;
    one.event = event;
    one.epoch = view_.at.epoch;
    one.step = view_.at.global_step;
    one.reason = reason;
    one.host = host_name();
    one.time = utc_now();
    for (const auto& [series, value] : view_.logs.all_newest()) {
      if (!std::isnan(value)) one.metrics.emplace_back(series, value);
    }
    if (event == "finish") one.fields.emplace_back("state", state());
    one.fields.emplace_back("epoch", of_all(one.epoch, view_.request.trainer.epochs));
    one.fields.emplace_back("step", of_all(one.step, view_.windows.planned()));
    if (!monitor_.empty() && !std::isnan(view_.logs.newest(monitor_))) {
      const Str best = std::isnan(best_) ? "" : fmt::format(", best {} at step {}", doors::shortest(best_), best_step_);
      one.fields.emplace_back(monitor_, doors::shortest(view_.logs.newest(monitor_)) + best);
    }
    if (event == "progress" || event == "best") {
      const int64_t done = one.step - first_step_, planned = view_.windows.planned();
      if (done > 0 && planned > one.step)
        one.fields.emplace_back("time left",
                                duration_text(seconds_since(begin_) / double(done) * double(planned - one.step)));
    }
    one.fields.emplace_back("host", one.host);
    return one;
  }

  /// How the run ended, in a word.
  Str state() const {
    if (SignalWatch::received() != 0) return "interrupted";
    const Outcome& outcome = view_.outcome;
    return outcome.reason.empty() ? outcome.outcome : outcome.outcome + ": " + outcome.reason;
  }

  FitView view_;
  Messenger messenger_;
  std::vector<Str> on_;
  double every_s_;
  Str monitor_;  ///< "" if nothing is monitored
  bool is_max_ = false;
  double best_ = NAN;
  int64_t best_step_ = 0;
  int64_t first_step_;  ///< of this process
  Times::Clock::time_point begin_ = Times::Clock::now(), told_ = begin_;
};

}  // namespace

ListenerPtr make_notify(const Value& call, const FitView& view) {
  if (view.request.flags.fast_dev_run > 0 || !view.request.ranks.is_first()) return nullptr;
  return std::make_unique<Notify>(call, view);
}

}  // namespace ltr
