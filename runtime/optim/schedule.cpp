#include "runtime/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/api/error.h"
#include "runtime/api/value_range.h"
#include "runtime/optim/schedule_call.h"

namespace ltr::optim {

namespace {

constexpr double kPi = std::numbers::pi;
using Call = ScheduleCall;

/// A factor on the base rate, behind a linear warm-up.
class Factor : public Schedule {
 public:
  Factor(double warmup, std::function<double(double t)> factor) : warmup_(warmup), factor_(std::move(factor)) {}
  double rate(int64_t t, double base) const override {
    const double now = double(t);
    return base * (now < warmup_ ? (now + 1) / warmup_ : factor_(now - warmup_));
  }

 private:
  double warmup_;
  std::function<double(double)> factor_;
};

/// Part of the way, 0 to 1; a length of nothing is all of it.
double part(double t, double total) { return total > 0 ? std::clamp(t / total, 0.0, 1.0) : 1; }

double cosine_down(double share, double final) { return final + (1 - final) * (1 + std::cos(kPi * share)) / 2; }

std::unique_ptr<Schedule> make_multistep(const Call& call) {
  std::vector<double> at;
  const Value* list = call.find("at");
  if (list != nullptr) {
    for (const Argument& item : list->items) at.push_back(updates_in(item.value, call.length(), "multistep"));
  }
  const double gamma = call.number("gamma", 0.1);
  const double warmup = call.period("warmup", 0);
  return std::make_unique<Factor>(warmup, [=](double t) {
    const auto passed = std::count_if(at.begin(), at.end(), [&](double place) { return t + warmup >= place; });
    return std::pow(gamma, double(passed));
  });
}

std::unique_ptr<Schedule> make_restarts(const Call& call) {
  const double first = call.anywhere("first");
  const double mult = call.number("mult", 1);
  const double final = call.number("final", 0);
  return std::make_unique<Factor>(call.period("warmup", 0), [=](double t) {
    double length = first;
    if (mult == 1) {
      t = std::fmod(t, first);
    } else {
      while (t >= length) {
        t -= length;
        length *= mult;
      }
    }
    return cosine_down(t / length, final);
  });
}

/// As PyTorch's OneCycleLR.
class OneCycle : public Schedule {
 public:
  explicit OneCycle(const Call& call)
      : total_(call.total()),
        pct_(call.number("pct", 0.3)),
        div_(call.number("div", 25)),
        final_div_(call.number("final_div", 1e4)),
        is_cosine_(call.symbol("anneal", "cos") == "cos") {
    if (const Value* peak = call.find("peak")) peak_ = peak->as_float();
    const Value* momentum = call.find_any("momentum");
    if (momentum == nullptr) {
      cycles_momentum_ = true;
    } else if (!momentum->is_none() && momentum->items.size() == 2) {
      cycles_momentum_ = true;
      low_ = momentum->items[0].value.as_float();
      high_ = momentum->items[1].value.as_float();
    }
    const Value* three = call.find("three_phase");
    three_phase_ = three != nullptr && three->as_bool();
  }

  double rate(int64_t t, double base) const override {
    const double peak = peak_.value_or(base);
    const double start = peak / div_;
    return along(double(t), {start, peak, three_phase_ ? start : start / final_div_, start / final_div_});
  }

  Option<double> momentum(int64_t t) const override {
    if (!cycles_momentum_) return {};
    return along(double(t), {high_, low_, high_, high_});
  }

 private:
  double along(double t, const std::array<double, 4>& values) const {
    const std::array<double, 3> ends = three_phase_
                                           ? std::array<double, 3>{pct_ * total_ - 1, 2 * pct_ * total_ - 2, total_ - 1}
                                           : std::array<double, 3>{pct_ * total_ - 1, total_ - 1, total_ - 1};
    const size_t phases = three_phase_ ? 3 : 2;
    double begin = 0;
    for (size_t i = 0; i < phases; i++) {
      if (t <= ends[i] || i + 1 == phases) {
        const double share = ends[i] > begin ? std::min((t - begin) / (ends[i] - begin), 1.0) : 1;
        const double from = values[i];
        const double to = values[i + 1];
        return is_cosine_ ? to + (from - to) / 2 * (1 + std::cos(kPi * share)) : from + (to - from) * share;
      }
      begin = ends[i];
    }
    return values.back();
  }

  double total_;
  double pct_;
  double div_;
  double final_div_;
  bool is_cosine_;
  bool three_phase_ = false;
  bool cycles_momentum_ = false;
  double low_ = 0.85;
  double high_ = 0.95;
  Option<double> peak_;
};

/// As PyTorch's CyclicLR: between two rates, whatever the base.
class Cyclic : public Schedule {
 public:
  explicit Cyclic(const Call& call)
      : low_(call.number("low", 0)),
        high_(call.number("high", 0)),
        up_(call.find("up") != nullptr ? call.anywhere("up") : 2000),
        down_(call.find("down") != nullptr ? call.anywhere("down") : up_),
        gamma_(call.number("gamma", 1)),
        mode_(call.symbol("mode", "triangular")) {}

  double rate(int64_t t, double) const override {
    const double size = up_ + down_;
    const double cycle = std::floor(1 + double(t) / size);
    const double x = 1 + double(t) / size - cycle;
    const double ratio = up_ / size;
    const double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
    double scale = 1;
    if (mode_ == "triangular2") scale = 1 / std::pow(2, cycle - 1);
    if (mode_ == "exp_range") scale = std::pow(gamma_, double(t));
    return low_ + (high_ - low_) * height * scale;
  }

 private:
  double low_;
  double high_;
  double up_;
  double down_;
  double gamma_;
  Str mode_;
};

class Sequential : public Schedule {
 public:
  explicit Sequential(const Call& call) {
    const Value* parts = call.find("parts");
    if (parts == nullptr || parts->items.empty())
      throw error_at(call.value().location, err::wrong_type, "sequential", "[]", "[(schedule, period), …]");
    for (const Argument& item : parts->items) {
      if (item.value.items.size() != 2) {
        throw error_at(call.value().location, err::wrong_type, "sequential", item.value.to_text(),
                       "(schedule, period)");
      }
      Length inner = call.length();
      // Where a part begins later, the first epochs say nothing of its own.
      if (!parts_.empty() && !inner.is_even) {
        inner.of_epochs = [&call](double) {
          call.need_even("epochs");
          return 0.0;
        };
      }
      const double length = updates_in(item.value.items[1].value, inner, "sequential");
      inner.total = int64_t(length);
      inner.hangs_on_total = {};
      parts_.push_back({make_schedule(item.value.items[0].value, inner), length});
    }
  }

  double rate(int64_t t, double base) const override {
    const Schedule* now = at(t);
    return now == nullptr ? base : now->rate(t, base);
  }
  Option<double> momentum(int64_t t) const override {
    const Schedule* now = at(t);
    return now == nullptr ? Option<double>() : now->momentum(t);
  }
  void collect(std::vector<Plateau*>& list) override {
    for (const Part& one : parts_) one.schedule->collect(list);
  }

 private:
  struct Part {
    std::unique_ptr<Schedule> schedule;
    double length;
  };
  /// The part that update `t` falls into; `t` then counts from its begin. The last one goes on for ever.
  const Schedule* at(int64_t& t) const {
    for (const Part& one : parts_) {
      if (double(t) < one.length || &one == &parts_.back()) return one.schedule.get();
      t -= int64_t(one.length);
    }
    return nullptr;
  }
  std::vector<Part> parts_;
};

class Chain : public Schedule {
 public:
  explicit Chain(const Call& call) {
    for (const Argument& item : call.ordered({"a", "b"})) parts_.push_back(make_schedule(item.value, call.length()));
  }

  double rate(int64_t t, double base) const override {
    // Each takes what the one before gives for its base: limits in absolute rates hold.
    for (const auto& one : parts_) base = one->rate(t, base);
    return base;
  }
  Option<double> momentum(int64_t t) const override {
    Option<double> momentum;
    for (const auto& one : parts_) {
      if (const Option<double> own = one->momentum(t)) momentum = own;
    }
    return momentum;
  }
  void collect(std::vector<Plateau*>& list) override {
    for (const auto& one : parts_) one->collect(list);
  }

 private:
  std::vector<std::unique_ptr<Schedule>> parts_;
};

std::unique_ptr<Schedule> make_wsd(const Call& call) {
  const double warmup = call.needed("warmup");
  const double decay = call.anywhere("decay");
  const double flat = call.total() - warmup - decay;
  const double final = call.number("final", 0);
  const Str shape = call.symbol("shape", "linear");
  return std::make_unique<Factor>(warmup, [=](double t) {
    if (t < flat) return 1.0;
    const double share = part(t - flat, decay);
    if (shape == "cosine") return cosine_down(share, final);
    return final + (1 - final) * (shape == "sqrt" ? 1 - std::sqrt(share) : 1 - share);
  });
}

std::unique_ptr<Schedule> make_linear(const Call& call, double from, double to, double power) {
  const double warmup = call.period("warmup", 0);
  const double total = call.total() - warmup;
  return std::make_unique<Factor>(warmup,
                                  [=](double t) { return to + (from - to) * std::pow(1 - part(t, total), power); });
}

/// A function of the program, as PyTorch's LambdaLR.
class OwnSchedule : public Schedule {
 public:
  OwnSchedule(const ScheduleInfo& info, const Value& call, const Length& length)
      : info_(info), call_(call), total_(length.total) {
    if (total_ < 0) {
      throw with_help(error_at(call.location, err::length_unknown, info.name),
                      "say in `trainer` how many `epochs` or `steps` there are");
    }
    for (const Argument& argument : call_.items) {
      const bool is_known = std::any_of(info.params.begin(), info.params.end(),
                                        [&](const char* param) { return Str(param) == argument.name; });
      if (is_known) continue;
      throw with_help(error_at(call_.location, err::unknown_setting, fmt::format("{}.{}", info.name, argument.name)),
                      fmt::format("{} takes {}", info.name, fmt::join(info.params, ", ")));
    }
    for (const char* param : info.params) {
      if (call_.find(param) != nullptr) continue;
      throw error_at(call_.location, err::wrong_type, fmt::format("{}.{}", info.name, param), "missing", "a value");
    }
    if (length.hangs_on_total && hangs_on_total()) length.hangs_on_total();
  }

  double rate(int64_t t, double base) const override {
    const double factor = info_.factor(t, total_, call_);
    if (std::isfinite(factor) && factor >= 0) return base * factor;
    throw error_at(call_.location, err::out_of_range, fmt::format("{} at update {} of {}", info_.name, t, total_),
                   factor, "a finite number of at least 0");
  }

 private:
  /// Whether its factors are others where training has twice the updates, or it has none there.
  bool hangs_on_total() const {
    try {
      for (const int64_t t : {int64_t(0), total_ / 4, total_ / 2, total_ - 1}) {
        if (t >= 0 && info_.factor(t, total_, call_) != info_.factor(t, 2 * total_, call_)) return true;
      }
    } catch (const Error&) {
      return true;
    }
    return false;
  }

  ScheduleInfo info_;
  Value call_;
  int64_t total_;
};

using ScheduleMaker = std::unique_ptr<Schedule> (*)(const Call&);
struct Row {
  const char* name;
  ScheduleMaker make;
};

constexpr Row kSchedules[] = {
    {"constant",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       return std::make_unique<Factor>(call.period("warmup", 0), [](double) { return 1.0; });
     }},
    {"linear_warmup",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const double n = call.needed("n");
       const double from = call.number("from", 0);
       return std::make_unique<Factor>(0, [=](double t) { return t < n ? from + (1 - from) * (t + 1) / n : 1.0; });
     }},
    {"linear", [](const Call& call) { return make_linear(call, call.number("from", 1), call.number("to", 0), 1); }},
    {"polynomial",
     [](const Call& call) { return make_linear(call, 1, call.number("final", 0), call.number("power", 1)); }},
    {"step",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const double every = call.anywhere("every");
       const double gamma = call.number("gamma", 0.1);
       return std::make_unique<Factor>(call.period("warmup", 0),
                                       [=](double t) { return std::pow(gamma, std::floor(t / every)); });
     }},
    {"multistep", make_multistep},
    {"exponential",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const bool is_given = call.find("every") != nullptr;
       if (!is_given) call.need_even("epochs");
       const double every = is_given ? call.anywhere("every") : call.length().of_epochs(1);
       const double gamma = call.number("gamma", 1);
       return std::make_unique<Factor>(call.period("warmup", 0),
                                       [=](double t) { return std::pow(gamma, std::floor(t / every)); });
     }},
    {"cosine",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const double warmup = call.period("warmup", 0);
       const double total = call.total() - warmup;
       const double final = call.number("final", 0);
       return std::make_unique<Factor>(warmup, [=](double t) { return cosine_down(part(t, total), final); });
     }},
    {"cosine_restarts", make_restarts},
    {"one_cycle", [](const Call& call) -> std::unique_ptr<Schedule> { return std::make_unique<OneCycle>(call); }},
    {"cyclic", [](const Call& call) -> std::unique_ptr<Schedule> { return std::make_unique<Cyclic>(call); }},
    {"noam",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const double size = call.number("d", 512);
       const double warmup = call.needed("warmup");
       return std::make_unique<Factor>(0, [=](double t) {
         return std::pow(size, -0.5) * std::min(std::pow(t + 1, -0.5), (t + 1) * std::pow(warmup, -1.5));
       });
     }},
    {"inverse_sqrt",
     [](const Call& call) -> std::unique_ptr<Schedule> {
       const double warmup = call.needed("warmup");
       return std::make_unique<Factor>(warmup, [=](double t) { return std::sqrt(warmup / (t + warmup + 1)); });
     }},
    {"wsd", make_wsd},
    {"plateau", [](const Call& call) -> std::unique_ptr<Schedule> { return std::make_unique<Plateau>(call); }},
    {"sequential", [](const Call& call) -> std::unique_ptr<Schedule> { return std::make_unique<Sequential>(call); }},
    {"chain", [](const Call& call) -> std::unique_ptr<Schedule> { return std::make_unique<Chain>(call); }},
};

/// `check` says it where both are counted alike; how many updates epochs have is known here alone.
void warn_of_length(const Call& call) {
  const Length& length = call.length();
  if (length.total < 0 || !length.warn) return;
  const Str& name = call.value().text;
  const auto warn = [&](const char* setting, const char* text) {
    const Value* period = call.find(setting);
    const bool is_given =
        period != nullptr &&
        (period->kind == Value::Kind::Int || period->kind == Value::Kind::Steps || period->kind == Value::Kind::Epochs);
    const double updates = is_given ? updates_in(*period, length, name) : 0;
    if (updates <= double(length.total)) return;
    // What an option gave stands in no file.
    const Location& at = call.location();
    const Str place = at.file[0] == '\0' ? "" : fmt::format("{}:{}: ", at.file, at.line);
    length.warn(fmt::format("{}{} {} takes {} updates, and has {}", place, text, name, updates, length.total));
  };
  warn(name == "linear_warmup" ? "n" : "warmup", "the warm-up of");
  if (name != "linear_warmup") warn("total", "the whole of");
}

}  // namespace

double updates_in(const Value& period, const Length& length, const Str& name) {
  switch (period.kind) {
    case Value::Kind::Steps: return period.real;
    case Value::Kind::Int: return double(period.whole);
    case Value::Kind::Epochs:
      if (!length.of_epochs) throw error_here(err::length_unknown, name);
      return length.of_epochs(period.real);
    default: throw error_here(err::wrong_type, name, period.to_text(), "a period in steps or epochs");
  }
}

std::unique_ptr<Schedule> make_schedule(const Value& call, const Length& length) {
  for (const ScheduleInfo& own : length.own) {
    if (call.text == own.name) return std::make_unique<OwnSchedule>(own, call, length);
  }
  for (const Argument& argument : call.items) {
    Option<Str> rule = broken_range(Str("schedule.") + argument.name, argument.value);
    if (!rule) rule = broken_range(fmt::format("schedule.{}.{}", call.text, argument.name), argument.value);
    if (rule) {
      throw error_at(argument.location, err::out_of_range, fmt::format("{}.{}", call.text, argument.name),
                     argument.value.to_text(), *rule);
    }
  }
  for (const Row& row : kSchedules) {
    if (call.text != row.name) continue;
    const Call arguments(call, length);
    std::unique_ptr<Schedule> schedule = row.make(arguments);
    arguments.check_all_used();
    warn_of_length(arguments);
    return schedule;
  }
  Str known;
  for (const ScheduleInfo& own : length.own) known += fmt::format("{}{}", known.empty() ? "" : ", ", own.name);
  for (const Row& row : kSchedules) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  throw with_help(error_at(call.location, err::unknown_setting, fmt::format("schedule {} in this version", call.text)),
                  "there are " + known);
}

}  // namespace ltr::optim
