#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/training_length.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// `5 %` of 0.05.
std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", share * 100);
  return std::string(text) + " %";
}

/// What falls as fast as `factor` rises.
double less(double factor) { return factor < 2 ? 2 - factor : 1 / factor; }
std::string less_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", less(factor));
  return text;
}

/// `7e-8` of `7e-08`.
std::string plain_power(std::string text) {
  const size_t zero = text.find("e-0");
  return zero == std::string::npos ? text : text.erase(zero + 2, 1);
}

struct Schedules {
  Context& cx;
  const Experiment& experiment;
  const Object& model;
  const TrainingLength training;
  const std::string& optimizer;
  bool is_said = false;       ///< one schedule in epochs is one mistake
  bool is_late_said = false;  ///< and so are all its changes that come too late

  /// The schedule of all of training.
  void check_whole(const ExprView& expr) {
    if (const auto* call = expr.get<node::Call>()) check_all_along(*call, expr.span, true);
    check(expr);
  }

  /// What stands for all of training, as a whole or as a part of a chain. `is_alone`: nothing else in it moves the rate, but for
  /// a warm-up.
  void check_all_along(const node::Call& call, Span span, bool is_alone) {
    check_end(call);
    if (is_alone) {
      check_factor(call, span);
      check_final(call);
    }
    check_decay(call);
    check_parts(call);
    check_patience(call);
    check_steps_given(call);
    check_rise(call);
    check_last(call);
    if (call.op != library::Id::Chain) return;
    const Wired parts[] = {argument(call, "a"), argument(call, "b")};
    for (size_t i = 0; i < 2; ++i) {
      const auto* part = parts[i].expr.get<node::Call>();
      if (part != nullptr) check_all_along(*part, parts[i].expr.span, is_alone && stays(parts[1 - i].expr));
    }
    check_chain(call);
  }

  /// Whether a schedule gives 1 from some time on.
  bool stays(const ExprView& expr) const {
    const auto* call = expr.get<node::Call>();
    if (call == nullptr) return false;
    if (call->op == library::Id::Chain) return stays(argument(*call, "a").expr) && stays(argument(*call, "b").expr);
    return call->op == library::Id::LinearWarmup || call->op == library::Id::Constant;
  }

  void check(const ExprView& expr) {
    if (const auto* call = expr.get<node::Call>()) {
      for (const node::NamedArg& arg : call->args) check_argument(*call, arg.name, cx.at(arg.value));
    } else {
      for_each_child(expr, [&](ExprId child) { check_argument({}, "", cx.at(child)); });
    }
  }

  void check_argument(const node::Call& schedule, const std::string& name, const ExprView& written) {
    const Wired wired = wire(written, model, experiment.model_arguments, experiment, cx.program);
    if (const auto* period = wired.expr.get<node::Quantity>()) {
      check_unit(written, *period);
      if (!name.empty() && name == library::info(schedule.op).warmup) check_warmup(written, *period);
      if (name != library::info(schedule.op).warmup) check_change(schedule, written, *period);
    }
    if (const auto* list = wired.expr.get<node::List>()) {
      for (const ExprId id : list->elements) {
        if (const auto* period = cx.at(id).get<node::Quantity>()) check_change(schedule, cx.at(id), *period);
      }
    }
    check(written);
  }

  Wired argument(const node::Call& schedule, const char* name) const {
    const auto found = std::ranges::find(schedule.args, name, &node::NamedArg::name);
    if (found == schedule.args.end()) return {error_at(Span{}), {}, {}};
    return wire(cx.at(found->value), model, experiment.model_arguments, experiment, cx.program);
  }
  static std::string count_text(double count, host::Measure measure) {
    const std::string unit = measure == host::Measure::Epochs ? " epoch" : " step";
    return std::to_string(int64_t(count)) + unit + (count == 1 ? "" : "s");
  }

  /// W0410: what comes only behind the end of training.
  void report_late(const Span& place, const std::string& what, host::Measure measure) {
    if (is_reported(cx, diagnostics::Code::W0410, place) || std::exchange(is_late_said, true)) return;
    cx.report(diag::never_reached(place, what).label(training.end_of(measure), "training ends here"));
  }

  /// W0416: a schedule that has come to a rate of 0 stays there. W0410: one that is longer than training does not come to its
  /// end.
  void check_end(const node::Call& schedule) {
    const Wired total = argument(schedule, "total");
    const auto* period = total.expr.get<node::Quantity>();
    const auto most = period != nullptr ? training.most_in(period->measure) : std::nullopt;
    if (most && period->value > double(*most))
      return report_late(total.expr.span, "the end of the schedule of `" + optimizer + "`", period->measure);
    if (period == nullptr || !ends_with_nothing(schedule)) return;
    report_end(total.expr.span, period->value, period->measure, "leave `total` out: it is the length of training");
  }

  /// W0416 of a rate that is nothing after `end`.
  void report_end(Span place, double end, host::Measure measure, const std::string& help) {
    const auto limit = training.all_in(measure);
    if (!limit || end >= double(*limit) || is_reported(cx, diagnostics::Code::W0416, place)) return;
    cx.report(diag::rate_ends_early(place, optimizer, count_text(end, measure), count_text(double(*limit), measure))
                  .label(training.end_of(measure), "training ends here")
                  .help("{}", help));
  }

  /// Whether the rate is 0 behind its `total`, or as good as that.
  bool ends_with_nothing(const node::Call& schedule) const {
    if (schedule.op == library::Id::OneCycle) return true;
    const Wired last = argument(schedule, schedule.op == library::Id::LinearSchedule ? "to" : "final");
    const auto rate = evaluate(last.expr, cx.program);
    return rate && rate->real == 0;
  }

  /// W0416: the last part of several goes on, and may have come to a rate of 0 before training ends: by its own `total`, which is
  /// the period beside it unless it is given.
  void check_last(const node::Call& schedule) {
    if (schedule.op != library::Id::Sequential) return;
    const Wired parts = argument(schedule, "parts");
    const auto* list = parts.expr.get<node::List>();
    if (list == nullptr || list->elements.empty()) return;
    double begin = 0;
    std::optional<host::Measure> measure;
    const node::Tuple* last = nullptr;
    for (const ExprId id : list->elements) {
      last = cx.at(id).get<node::Tuple>();
      const auto* period = last != nullptr ? cx.at(last->elements[1]).get<node::Quantity>() : nullptr;
      if (period == nullptr || measure.value_or(period->measure) != period->measure) return;
      measure = period->measure;
      if (id != list->elements.back()) begin += period->value;
    }
    check_end_of_part(cx.at(last->elements[0]), cx.at(last->elements[1]), begin);
  }
  void check_end_of_part(const ExprView& part, const ExprView& length, double begin) {
    const Wired wired = wire(part, model, experiment.model_arguments, experiment, cx.program);
    const auto* call = wired.expr.get<node::Call>();
    const auto* whole = length.get<node::Quantity>();
    if (call == nullptr || whole == nullptr) return;
    if (call->op == library::Id::Chain) {
      for (const char* name : {"a", "b"}) check_end_of_part(argument(*call, name).expr, length, begin);
      return check_chain(*call);
    }
    const Wired total = argument(*call, "total");
    const auto* own = total.expr.get<node::Quantity>();
    const bool has_end = own != nullptr || total.expr.is<node::NoneConst>();
    if (!has_end || !ends_with_nothing(*call) || (own != nullptr && own->measure != whole->measure)) return;
    if (own != nullptr)
      report_end(total.expr.span, begin + own->value, whole->measure,
                 "leave `total` out: it is the length of the part");
    else
      report_end(length.span, begin + whole->value, whole->measure,
                 "the last part goes on: say how long it is, as far as training goes");
  }

  /// W0421: a rate that grows with each epoch, or is as good as nothing long before the end. In steps a rate may grow on
  /// purpose, to see how far it may.
  void check_factor(const node::Call& schedule, Span whole) {
    const bool is_each = schedule.op == library::Id::Exponential || schedule.op == library::Id::StepSchedule;
    if (!is_each && schedule.op != library::Id::Multistep) return;
    const Wired gamma = argument(schedule, "gamma"), every = argument(schedule, "every");
    const auto factor = evaluate(gamma.expr, cx.program);
    const auto* period = every.expr.get<node::Quantity>();
    // Defaults stand nowhere in the program.
    const Span place = gamma.expr.span.is_empty() ? whole : gamma.expr.span;
    if (!factor || (is_each && period == nullptr) || is_reported(cx, diagnostics::Code::W0421, place)) return;
    if (factor->real == 0) {
      cx.report(
          diag::runaway_rate(place, optimizer, "is 0 from its first change on")
              .note("`gamma` is what is left of the rate each time, and what is trained behind that changes no weights")
              .help("`0.1` leaves a tenth of it"));
    } else if (factor->real > 1 && (!is_each || period->measure == host::Measure::Epochs)) {
      const std::string growth = percent_text(factor->real - 1);
      const std::string when = !is_each             ? "at each of these"
                               : period->value == 1 ? "in each epoch"
                                                    : "every " + count_text(period->value, period->measure);
      cx.report(diag::runaway_rate(place, optimizer, "grows by " + growth + " " + when)
                    .note("`gamma` is what is left of the rate, and below 1")
                    .help("`{}` takes {} of it away each time", less_text(factor->real),
                          percent_text(1 - less(factor->real))));
    } else if (is_each && factor->real > 0 && factor->real < 1) {
      check_fall(factor->real, changes_to_nothing(factor->real) * period->value, period->measure, place);
    } else if (factor->real > 0 && factor->real < 1) {
      check_falls(schedule, factor->real, place);
    }
  }

  /// How often a rate is multiplied until it is below a millionth of what it was.
  static double changes_to_nothing(double factor) {
    constexpr double kNothing = 1e-6;
    return std::ceil(std::log(kNothing) / std::log(factor));
  }

  /// The changes of `multistep`, which may bring it there, too.
  void check_falls(const node::Call& schedule, double factor, Span place) {
    const Wired at = argument(schedule, "at");
    const auto* list = at.expr.get<node::List>();
    std::vector<double> places;
    std::optional<host::Measure> measure;
    for (const ExprId id : list != nullptr ? list->elements : ExprIds()) {
      const auto* period = cx.at(id).get<node::Quantity>();
      if (period == nullptr || (measure && *measure != period->measure)) return;
      measure = period->measure;
      places.push_back(period->value);
    }
    std::ranges::sort(places);
    const double count = changes_to_nothing(factor);
    if (count <= double(places.size())) check_fall(factor, places[size_t(count) - 1], *measure, place);
  }

  /// W0421: a share of the rate to end at that is above all of it.
  void check_final(const node::Call& schedule) {
    const Wired share = argument(schedule, "final");
    const auto final = evaluate(share.expr, cx.program);
    if (!final || final->real <= 1 || is_reported(cx, diagnostics::Code::W0421, share.expr.span)) return;
    char times[32];
    std::snprintf(times, sizeof times, "%.3g", final->real);
    cx.report(
        diag::runaway_rate(share.expr.span, optimizer, "ends at " + std::string(times) + " times what it begins with")
            .note("`final` is what is left of the rate at the end, and below 1")
            .help("a tenth of it is `final = 0.1`"));
  }

  /// A rate that is below a millionth of what it was, at `end`, before half of training is over.
  void check_fall(double factor, double end, host::Measure measure, Span place) {
    const auto limit = training.all_in(measure);
    if (!limit || end <= 0 || end * 2 >= double(*limit)) return;
    char left[32];
    std::snprintf(left, sizeof left, "%.0e", std::pow(factor, changes_to_nothing(factor)));
    const std::string unit = measure == host::Measure::Epochs ? "epochs" : "steps";
    cx.report(diag::runaway_rate(place, optimizer,
                                 "is " + plain_power(left) + " of what it was after " + std::to_string(int64_t(end)) +
                                     " " + unit + " of " + std::to_string(*limit))
                  .label(training.end_of(measure), "training ends here")
                  .note("what is trained behind that changes no weights")
                  .help("`gamma` is what is left of the rate each time: `0.95` takes 5 % of it away"));
  }

  /// E0428: of what rises, stays and falls the two ends do not overlap.
  void check_decay(const node::Call& schedule) {
    if (schedule.op != library::Id::Wsd) return;
    const Wired up = argument(schedule, "warmup"), down = argument(schedule, "decay"),
                all = argument(schedule, "total");
    const auto *rise = up.expr.get<node::Quantity>(), *fall = down.expr.get<node::Quantity>();
    if (rise == nullptr || fall == nullptr || rise->measure != fall->measure) return;
    const auto* total = all.expr.get<node::Quantity>();
    const auto limit = training.most_in(rise->measure);
    const bool is_own = total != nullptr && total->measure == rise->measure;
    if (!is_own && (total != nullptr || !limit)) return;
    const double length = is_own ? total->value : double(*limit);
    // A warm-up that is too long by itself is said by itself.
    if (rise->value + fall->value <= length || (limit && rise->value > double(*limit))) return;
    if (is_reported(cx, diagnostics::Code::E0428, down.expr.span)) return;
    if (!is_own && !training.said_in(rise->measure))
      return report_late(down.expr.span, "the end of the schedule of `" + optimizer + "`", rise->measure);
    cx.report(diag::warmup_too_long(down.expr.span, "the warm-up with the decay", optimizer,
                                    count_text(rise->value + fall->value, rise->measure),
                                    count_text(length, rise->measure))
                  .label(up.expr.span, "the warm-up")
                  .help("shorten one of them, or train for longer"));
  }

  /// W0429: a rate that changes at steps of its own, of which there are none.
  void check_steps_given(const node::Call& schedule) {
    if (schedule.op != library::Id::Multistep) return;
    const Wired at = argument(schedule, "at");
    const auto* steps = at.expr.get<node::List>();
    const Span place = at.expr.span;
    if (steps == nullptr || !steps->elements.empty() || is_reported(cx, diagnostics::Code::W0429, place)) return;
    cx.report(diag::idle_setting(place, "multistep").help("say when: `multistep([20 epochs, 40 epochs])`"));
  }

  /// W0410: a rate that rises from `low` for longer than training never comes to `high`.
  void check_rise(const node::Call& schedule) {
    if (schedule.op != library::Id::Cyclic) return;
    const Wired up = argument(schedule, "up"), high = argument(schedule, "high");
    const auto* period = up.expr.get<node::Quantity>();
    const auto most = period != nullptr ? training.most_in(period->measure) : std::nullopt;
    if (!most || period->value <= double(*most) || is_endless(cx)) return;
    const Span place = up.expr.span.is_empty() ? high.expr.span : up.expr.span;
    report_late(place, "the rate `high` of `" + optimizer + "`", period->measure);
  }

  /// W0428: the second of a chain says what the rate is, rather than what it is multiplied by.
  void check_chain(const node::Call& schedule) {
    if (schedule.op != library::Id::Chain) return;
    const Wired second = argument(schedule, "b");
    const auto* call = second.expr.get<node::Call>();
    const bool has_rates = call != nullptr && (call->op == library::Id::Cyclic || call->op == library::Id::OneCycle);
    const Span place = second.expr.span;
    if (!has_rates || is_reported(cx, diagnostics::Code::W0428, place)) return;
    const Wired first = argument(schedule, "a");
    cx.report(diag::dropped_schedule(place, std::string(library::info(call->op).name))
                  .label(first.expr.span, "dropped")
                  .help("it begins a chain: `chain({}, {})`", cx.source_text(place), cx.source_text(first.expr.span)));
  }

  /// W0410: parts that follow each other for longer than training.
  void check_parts(const node::Call& schedule) {
    if (schedule.op != library::Id::Sequential) return;
    const Wired parts = argument(schedule, "parts");
    const auto* list = parts.expr.get<node::List>();
    double end = 0;
    std::optional<host::Measure> measure;
    for (const ExprId id : list != nullptr ? list->elements : ExprIds{}) {
      const auto* part = cx.at(id).get<node::Tuple>();
      const auto* period = part != nullptr ? cx.at(part->elements[1]).get<node::Quantity>() : nullptr;
      const auto most = period != nullptr ? training.most_in(period->measure) : std::nullopt;
      if (!most || measure.value_or(period->measure) != period->measure) return;
      measure = period->measure;
      end += period->value;
      if (end > double(*most))
        return report_late(cx.at(part->elements[1]).span, "the end of this part of the schedule", period->measure);
    }
  }

  /// W0410: `plateau` waits for more values than there are, or for more than an `EarlyStop` that watches the same.
  void check_patience(const node::Call& schedule) {
    if (schedule.op != library::Id::Plateau) return;
    const auto watched = watched_series(schedule, cx.program);
    const auto most = watched ? most_values(watched->series, experiment) : std::nullopt;
    const Wired patience = argument(schedule, "patience");
    const auto values = evaluate(patience.expr, cx.program);
    if (!values || patience.expr.span.is_empty() || is_endless(cx)) return;
    if (is_reported(cx, diagnostics::Code::W0410, patience.expr.span)) return;
    if (watched && (!most || double(values->whole) < *most))
      return check_stop(schedule, watched->series, values->whole, patience.expr.span);
    if (!most || double(values->whole) < *most) return;
    cx.report(diag::never_reached(patience.expr.span, "the end of this `patience`")
                  .label(training.has_epochs ? training.epochs_span : training.steps_span, "training ends here"));
  }

  /// Of an `EarlyStop` that may not act yet, or a `plateau` that takes for none what that takes for better, nothing is known.
  void check_stop(const node::Call& schedule, const std::string& series, int64_t values, Span place) {
    const auto is_own = [&](const node::NamedArg& arg) {
      return (arg.name == "threshold" || arg.name == "cooldown") && !cx.at(arg.value).span.is_empty();
    };
    if (find_setting(experiment.trainer, "min_epochs") != nullptr ||
        find_setting(experiment.trainer, "min_steps") != nullptr || experiment.sweep ||
        std::ranges::any_of(schedule.args, is_own))
      return;
    for (const Expr& one : experiment.callbacks) {
      const auto* call = one.get<node::Call>();
      if (call == nullptr || call->op != library::Id::EarlyStop) continue;
      const auto watched = watched_series(*call, cx.program);
      const Wired patience = argument(*call, "patience");
      const auto least = evaluate(patience.expr, cx.program);
      if (!watched || watched->series != series || !least || least->whole < 1 || least->whole > values) continue;
      const std::string rounds = least->whole == 1 ? "one value" : std::to_string(least->whole) + " values";
      cx.report(diag::never_reached(place, "the end of this `patience`")
                    .label(one.span, "ends training after {} that are no better", rounds)
                    .help("let `plateau` wait for fewer values than `EarlyStop`, so that a lower rate gets its turn"));
      return;
    }
  }

  bool is_written(const ExprView& expr) const {
    return cx.sources.contains(expr.span.source) && expr.span.source == model_source();
  }
  source::SourceId model_source() const { return model.span.source; }

  void check_unit(const ExprView& written, const node::Quantity& value) {
    if (value.measure == host::Measure::Seconds && is_written(written)) {
      cx.report(diag::wrong_argument(written.span, "schedules count steps or epochs, and this is a time")
                    .help("write it as `1000 steps` or `2 epochs`"));
      return;
    }
    if (value.measure != host::Measure::Epochs || is_said || training.has_epochs || !training.has_steps) return;
    if (!is_written(written)) return;
    is_said = true;
    cx.report(diag::schedule_in_epochs(training.steps_span, optimizer)
                  .label(written.span, "epochs here")
                  .help("say how many `epochs` to train, or write the schedule in steps"));
  }

  /// W0410: a rate that changes at steps of its own never does.
  void check_change(const node::Call& schedule, const ExprView& written, const node::Quantity& at) {
    const bool restarts = schedule.op == library::Id::CosineRestarts;
    if (schedule.op != library::Id::StepSchedule && schedule.op != library::Id::Multistep && !restarts) return;
    const std::optional<int64_t> most = training.most_in(at.measure);
    // What restarts with the end has come down once.
    if (!most || at.value < double(*most) || (restarts && at.value == double(*most))) return;
    report_late(
        written.span,
        restarts ? "the first restart of `" + optimizer + "`" : "this change of the rate of `" + optimizer + "`",
        at.measure);
  }

  void check_warmup(const ExprView& written, const node::Quantity& value) {
    const std::optional<int64_t> most = training.most_in(value.measure);
    if (!most || value.value <= double(*most)) return;
    // What the records of an epoch make of a number of epochs may be a first try.
    if (!training.said_in(value.measure))
      return report_late(written.span, "the end of the warm-up of `" + optimizer + "`", value.measure);
    cx.report(diag::warmup_too_long(training.end_of(value.measure), "the warm-up", optimizer,
                                    count_text(value.value, value.measure), count_text(double(*most), value.measure))
                  .label(written.span, "the warm-up")
                  .help("shorten the warm-up, or train for longer"));
  }
};

}  // namespace

void check_schedules(Context& cx, const Experiment& experiment) {
  const Object& model = cx.program.models[experiment.model];
  const TrainingLength training = training_length(cx, experiment);
  for (const Member& member : model.members) {
    if (member.kind != MemberKind::Optimizer) continue;
    Schedules schedules{cx, experiment, model, training, member.name};
    for (const auto& [name, value] : member.settings) {
      if (value.type.kind == Kind::Schedule) schedules.check_whole(value);
    }
    for (const GroupSettings& group : member.groups) {
      for (const auto& [name, value] : group.settings) {
        if (value.type.kind == Kind::Schedule) schedules.check_whole(value);
      }
    }
  }
}

}  // namespace ltr::check
