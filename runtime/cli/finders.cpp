#include "runtime/cli/finders.h"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/number.h"
#include "runtime/api/suggest.h"
#include "runtime/cli/text_plot.h"
#include "runtime/cli/tuned_setting.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

constexpr const char* kFindBatch = "find-batch";
constexpr const char* kFindLr = "find-lr";

/// A finder is at work: signals end it.
struct Searching {
  Searching() : before(SignalWatch::phase()) { SignalWatch::enter(SignalPhase::Search); }
  ~Searching() { SignalWatch::enter(before); }
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;
  SignalPhase before;
};

/// What any rank was told.
int signal_of_all(const Ranks& ranks) {
  auto signal = double(SignalWatch::received());
  ranks.most({&signal, 1});
  return int(signal);
}

/// So many digits as a search can tell.
double rounded(double rate) { return std::stod(fmt::format("{:.3e}", rate)); }

Str bytes_name(double bytes) { return bytes_text(bytes); }

/// The optimizer that `--find-lr` means.
Optimizer& chosen_optimizer(const Start& start) {
  const Str wanted = start.line.get(kFindLr);
  const auto& optimizers = start.root->state().optimizers;
  std::vector<Str> names;
  for (const auto& optimizer : optimizers) {
    names.push_back(optimizer->name());
    if (optimizer->name() == wanted || (wanted.empty() && optimizers.size() == 1)) return *optimizer;
  }
  const Str list = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) throw error_at({}, err::settings_contradict, "--find-lr: the model has no optimizer");
  if (wanted.empty()) {
    throw with_help(
        error_at({}, err::settings_contradict, fmt::format("--find-lr: which optimizer? The model has: {}", list)),
        fmt::format("--find-lr={} moves the rate of that one alone", names.front()));
  }
  const Str near = nearest(wanted, names);
  throw error_at({}, err::unknown_option,
                 fmt::format("--find-lr={}{} (optimizers are: {})", wanted,
                             near.empty() ? "" : fmt::format("; did you mean --find-lr={}?", near), list));
}

Str why_ended(LrCurve::End end) {
  switch (end) {
    case LrCurve::End::Diverged: return ", then the loss was above 4 times its best";
    case LrCurve::End::NotFinite: return ", then the loss was not finite";
    case LrCurve::End::AllTried:
    case LrCurve::End::Stopped: break;
  }
  return "";
}

Str lr_table(const LrCurve& curve) {
  Str out = "lr,loss,smoothed\n";
  for (const LrCurve::Point& point : curve.points())
    out += fmt::format("{},{},{}\n", doors::shortest(point.lr), doors::shortest(point.loss),
                       doors::shortest(point.smoothed));
  return out;
}

Str outcome_of(const TrialResult& result) {
  switch (result.end) {
    case TrialResult::End::Fits: return "fits";
    case TrialResult::End::Crashed: return "crashed";
    case TrialResult::End::NoMemory:
    case TrialResult::End::Failed:
    case TrialResult::End::Stopped: break;
  }
  return "no memory";
}

Str batch_table(const BatchSearch& found) {
  Str out = "batch,outcome,bytes,window_s\n";
  for (const BatchSearch::Trial& trial : found.trials) {
    const bool fits = trial.result.end == TrialResult::End::Fits;
    out += fmt::format("{},{},{},{}\n", trial.size, outcome_of(trial.result),
                       fits ? doors::shortest(trial.result.bytes) : "",
                       fits ? doors::shortest(trial.result.window_s) : "");
  }
  return out;
}

}  // namespace

Finders::Finders(Start& start) : start_(start), goes_on_(start.line.has("then-fit")) {
  for (const char* finder : {kFindBatch, kFindLr}) {
    if (start.line.has(finder)) asked_.emplace_back(finder);
  }
  if (goes_on_ && asked_.empty())
    throw error_at({}, err::settings_contradict, "--then-fit follows a search: --find-lr or --find-batch");
  for (const char* other : {"fast-dev-run", "bare"}) {
    if (are_asked() && start.line.has(other))
      throw error_at(
          {}, err::settings_contradict,
          fmt::format("--{} keeps nothing, so there is nothing to look for with --{}", other, asked_.front()));
  }
}

int Finders::given_up(int signal) const {
  const char* name = sigabbrev_np(signal);
  if (name != nullptr)
    print_err(fmt::format("stopped by SIG{}: the search is given up, and nothing of it is kept\n", name));
  return SignalWatch::exit_code(signal);
}

Option<int> Finders::run() {
  {
    const Searching searching;
    for (const Str& finder : asked_) {
      if (const Option<int> code = finder == kFindBatch ? run_batch() : run_lr()) return code;
    }
    if (const int signal = signal_of_all(start_.ranks); signal != 0) return given_up(signal);
  }
  return goes_on_ ? Option<int>() : Option<int>(0);
}

Option<int> Finders::run_batch() {
  const std::unique_ptr<Progress> progress = make_progress(start_.terminal);
  const BatchSearch found = find_batch(start_, [&](const BatchSearch& so_far) {
    const BatchSearch::Trial& trial = so_far.trials.back();
    const std::pair<Str, double> values[] = {{"batch", double(trial.size)},
                                             {"fits", trial.result.end == TrialResult::End::Fits ? 1 : 0}};
    progress->search(kFindBatch, int64_t(so_far.trials.size()), -1, values);
  });
  progress->end();
  if (found.signal != 0) return given_up(found.signal);
  keep("find_batch.csv", batch_table(found), &*found.option);
  tell(found);
  take(*found.option);
  return std::nullopt;
}

Option<int> Finders::run_lr() {
  start_.set_up_device();
  start_.build();
  take_given_weights(start_);
  Unheard nobody;
  const RunRequest request = start_.request(nobody);
  Optimizer& optimizer = chosen_optimizer(start_);
  const Str name = optimizer.name();
  const std::unique_ptr<Progress> progress = make_progress(start_.terminal);
  const LrCurve curve = find_lr(request, optimizer, [&](const LrCurve& so_far) {
    const LrCurve::Point& point = so_far.points().back();
    const std::pair<Str, double> values[] = {{"lr", point.lr}, {"loss", point.loss}};
    progress->search(kFindLr, int64_t(so_far.points().size()), kRates, values);
  });
  progress->end();
  if (curve.end() == LrCurve::End::Stopped) return given_up(signal_of_all(start_.ranks));
  start_.let_go();
  const Option<size_t> best = curve.steepest();
  const Option<GivenOption> given =
      best ? rate_option(start_, name, rounded(curve.points()[*best].lr), kFindLr) : Option<GivenOption>();
  keep("find_lr.csv", lr_table(curve), given ? &*given : nullptr);
  tell(curve, name, best);
  if (!best) {
    const double last = curve.points().empty() ? rate_of_search(0) : curve.points().back().lr;
    throw with_help(error_at({}, err::nothing_found, "--find-lr",
                             fmt::format("the loss of {} fell nowhere between 1e-08 and {}{}", name, short_number(last),
                                         why_ended(curve.end()))),
                    "the losses are in " + path_of("find_lr.csv"));
  }
  take(*given);
  return std::nullopt;
}

void Finders::take(GivenOption given) {
  start_.line.options.push_back(std::move(given));
  start_.resolve();
}

Str Finders::path_of(const Str& file) const {
  return fmt::format("{}/{}/{}", start_.out_dir(), start_.experiment->name, file);
}

void Finders::keep(const Str& file, const Str& table, const GivenOption* given) {
  if (given != nullptr) findings_.push_back({file, table, *given});
  if ((goes_on_ && given != nullptr) || !start_.ranks.is_first()) return;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path_of(file)).parent_path(), failed);
  try {
    doors::write_file_atomically(path_of(file), table);
  } catch (const std::system_error& error) {
    throw error_at({}, err::cannot_write, path_of(file), error.code().message());
  }
}

void Finders::tell(const LrCurve& curve, const Str& optimizer, Option<size_t> best) {
  const Str flag = best ? typed(findings_.back().given) : "";
  if (start_.terminal.is_json) {
    const Str lr = best ? doors::json_number(rounded(curve.points()[*best].lr)) : "null";
    return print_out(json_event(
        "find_lr", fmt::format("\"optimizer\":{},\"lr\":{},\"option\":{},\"points\":{}", doors::json_string(optimizer),
                               lr, doors::json_string(flag), curve.points().size())));
  }
  if (!start_.terminal.is_quiet) {
    TextPlot plot{
        {}, "", "lr " + (curve.points().empty() ? Str() : short_number(curve.points().back().lr)), short_number};
    if (!curve.points().empty()) plot.first = short_number(curve.points().front().lr);
    for (size_t i = 0; i < curve.points().size(); i++) {
      const LrCurve::Point& point = curve.points()[i];
      plot.points.push_back({std::log(point.lr), point.smoothed, best && i == *best});
    }
    print_out(fmt::format("find-lr: the loss of {}, smoothed, over {} rates{}\n{}", optimizer, curve.points().size(),
                          why_ended(curve.end()), draw(plot, window_width())));
  }
  if (best)
    print_out(fmt::format("lr {} · use it:  {}{}\n", short_number(rounded(curve.points()[*best].lr)), flag,
                          goes_on_ ? "" : " · the curve: " + path_of("find_lr.csv")));
}

void Finders::tell(const BatchSearch& found) {
  const Str flag = typed(*found.option);
  if (start_.terminal.is_json) {
    return print_out(
        json_event("find_batch",
                   fmt::format("\"batch\":{},\"largest\":{},\"is_limited\":{},\"option\":{},\"trials\":{}", found.size,
                               found.largest, found.is_limited, doors::json_string(flag), found.trials.size())));
  }
  if (!start_.terminal.is_quiet) {
    TextPlot plot{{}, "", "", bytes_name};
    int64_t least = found.largest;
    for (const BatchSearch::Trial& trial : found.trials) {
      if (trial.result.end != TrialResult::End::Fits) continue;
      least = std::min(least, trial.size);
      plot.points.push_back({double(trial.size), trial.result.bytes, trial.size == found.largest});
    }
    plot.first = "batch " + with_commas(least);
    plot.last = with_commas(found.largest);
    const Str limit = found.is_limited ? fmt::format("{} is the largest that fits", with_commas(found.largest))
                      : found.largest < found.most
                          ? fmt::format("{} fits, and no larger one is allowed", with_commas(found.largest))
                          : fmt::format("{} fits, and there are no more samples", with_commas(found.largest));
    print_out(fmt::format("find-batch: memory of {}, {} windows each; {}\n{}",
                          plural(int64_t(found.trials.size()), "trial"), kTrialWindows, limit,
                          draw(plot, window_width())));
  }
  print_out(fmt::format("batch {}{} · use it:  {}{}\n", found.size, found.is_limited ? ", 0.95 of the largest" : "",
                        flag, goes_on_ ? "" : " · the trials: " + path_of("find_batch.csv")));
}

void Finders::take_from(const Str& run) {
  nlohmann::json config;
  try {
    config = doors::read_json(run + "/config.json");
  } catch (const std::exception&) {
    config = nlohmann::json::object();
  }
  std::vector<GivenOption> found;
  for (const Str& finder : asked_) {
    bool is_there = false;
    for (const auto& [path, setting] : config.items()) {
      if (!setting.is_object() || setting.value("from", "") != finder) continue;
      const char* from = finder == kFindLr ? kFindLr : kFindBatch;
      found.push_back({"set", fmt::format("{}={}", path, setting.at("value").dump()), from, "--set"});
      is_there = true;
    }
    if (!is_there) {
      throw with_help(
          error_at({}, err::settings_contradict,
                   fmt::format("--{} looks for the start of a run, and {} goes on", finder, run)),
          fmt::format("leave --{} out; a run that began with it and --then-fit goes on with what was found then",
                      finder));
    }
  }
  for (GivenOption& one : found) start_.line.options.push_back(std::move(one));
  start_.resolve();
}

}  // namespace ltr::cli
