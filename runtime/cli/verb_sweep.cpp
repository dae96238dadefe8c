// `sweep`: a `fit` for each trial, each in a process of its own, some side by side. What is known of them lies in the
// folder of the sweep, `sweep-NNNN` beside the runs of the experiment: `results.csv` for people, `sweep.json` to go on
// from.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "doors/csv.h"
#include "doors/json.h"
#include "doors/number.h"
#include "doors/shell.h"
#include "runtime/cli/cores.h"
#include "runtime/cli/rank_plan.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/sweep_trial.h"
#include "runtime/cli/verbs.h"
#include "runtime/settings/value_text.h"
#include "runtime/train/series_name.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

/// Options that a trial is not given: those of the sweep itself, and what the sweep says anew.
bool is_own_option(const Str& name) {
  static const std::set<Str> kOwn = {"trials", "jobs",   "over",  "out",       "json",
                                     "quiet",  "no-bar", "color", "log-level", "threads"};
  return kOwn.contains(name);
}

OrderedJson as_json(const TrialRecord& record) {
  OrderedJson values = OrderedJson::object();
  for (const TrialValue& one : record.values) values[one.name] = one.text;
  OrderedJson best = record.best ? OrderedJson(*record.best) : OrderedJson();
  return {{"trial", record.number}, {"state", record.state},       {"values", values},
          {"best", best},           {"at_rungs", record.at_rungs}, {"epochs", record.epochs},
          {"steps", record.steps},  {"seconds", record.seconds},   {"reason", record.reason}};
}

TrialRecord record_of(const OrderedJson& json) {
  TrialRecord record{.number = json.at("trial"), .state = json.at("state")};
  for (const auto& [name, text] : json.at("values").items()) record.values.push_back({name, text});
  if (!json.at("best").is_null()) record.best = json.at("best").get<double>();
  record.at_rungs = json.at("at_rungs").get<std::vector<double>>();
  record.epochs = json.at("epochs");
  record.steps = json.at("steps");
  record.seconds = json.at("seconds");
  record.reason = json.at("reason");
  return record;
}

class Sweep {
 public:
  explicit Sweep(Start& start) : start_(start), plan_(read_sweep(start)) {}

  int run() {
    refuse_pipes(start_.line);
    read_jobs();
    const RunFolder folder = open_folder();
    folder_ = folder.path();
    for (const TrialRecord& record : records_) note_rungs(record);
    if (!start_.terminal.is_json)
      print_out(fmt::format("{}: {}, {} done already\n", folder_, plural(plan_.trials, "trial"), count_done()));
    SignalWatch::enter(SignalPhase::Sweep);
    const int signal = run_all();
    if (signal == 0) return finish();
    print_err(
        fmt::format("stopped after {} of {}; the same command goes on\n", count_done(), plural(plan_.trials, "trial")));
    return SignalWatch::exit_code(signal);
  }

 private:
  void read_jobs() {
    Str wanted;
    const Option<Value> jobs = parse_value(start_.line.get("jobs", "1"), "int", wanted);
    if (!jobs || jobs->whole < 1)
      throw error_at({}, err::wrong_type, "--jobs", fmt::format("\"{}\"", start_.line.get("jobs")),
                     "a number of at least 1");
    jobs_ = jobs->whole;
    if (jobs_ == 1 || start_.device.accelerator == nullptr) return;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    Str device;
    for (const char c : Str(visible != nullptr ? visible : "") + ",") {
      if (c != ',') {
        device += c;
      } else if (!device.empty()) {
        devices_.push_back(std::exchange(device, {}));
      }
    }
    if (int64_t(devices_.size()) >= jobs_) return;
    throw with_help(
        error_at({}, err::topology_unavailable, fmt::format("{} side by side need a GPU each", plural(jobs_, "trial"))),
        "CUDA_VISIBLE_DEVICES=0,1 names those that there are");
  }

  // ---- the folder

  Str state_path(const Str& folder) const { return folder + "/sweep.json"; }

  /// The newest sweep of this experiment that asks for the same and is not done, else a new one.
  RunFolder open_folder() {
    const fs::path parent = fs::path(start_.out_dir()) / start_.experiment->name;
    std::error_code failed;
    fs::create_directories(parent, failed);
    std::vector<Str> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, failed)) {
      const Str name = entry.path().filename().string();
      if (name.starts_with("sweep-")) names.push_back(name);
    }
    std::ranges::sort(names);
    if (!names.empty()) {
      const Str newest = (parent / names.back()).string();
      if (!fs::exists(newest + "/DONE") && is_same(newest)) {
        try {
          return RunFolder::hold(newest);
        } catch (const Error& error) {
          records_.clear();
          if (error.code != err::run_in_use.code) throw;
        }
      }
    }
    for (int64_t number = names.empty() ? 1 : std::atoll(names.back().c_str() + 6) + 1;; ++number) {
      const Str path = (parent / fmt::format("sweep-{:04}", number)).string();
      if (fs::create_directory(path, failed)) {
        write(path);
        return RunFolder::hold(path);
      }
      if (failed) throw error_at({}, err::cannot_write, path, failed.message());
    }
  }

  /// Whether the sweep in `folder` is this one; its trials are then known.
  bool is_same(const Str& folder) {
    std::ifstream file(state_path(folder));
    const nlohmann::json read = doors::try_json(Str(std::istreambuf_iterator<char>(file), {}));
    if (!read.is_object() || read.value("spec", "") != spec()) return false;
    for (const nlohmann::json& one : read.at("trials")) records_.push_back(record_of(one));
    // Members of JSON come in the order of the alphabet, and are told in that of the program.
    const auto place = [&](const TrialValue& value) {
      return std::ranges::find(plan_.axes, value.name, &SweepAxis::name) - plan_.axes.begin();
    };
    for (TrialRecord& record : records_) std::ranges::sort(record.values, {}, place);
    return true;
  }

  /// Options count, too: with others, trials would be others.
  Str spec() const {
    Str text = fmt::format("{} of program {}", plan_.text(), start_.program.source_hash);
    for (const Str& word : options()) text += " " + word;
    return text;
  }

  void write(const Str& folder) const {
    OrderedJson trials = OrderedJson::array();
    Str table = "trial,state";
    for (const SweepAxis& axis : plan_.axes) table += "," + axis.name;
    table += "," + plan_.target + ",epochs,steps,seconds,folder,reason\n";
    for (const TrialRecord& record : records_) {
      trials.push_back(as_json(record));
      table += fmt::format("{},{}", record.number, record.state);
      for (const SweepAxis& axis : plan_.axes) {
        const auto value = std::ranges::find(record.values, axis.name, &TrialValue::name);
        table += "," + (value != record.values.end() ? doors::csv_cell(value->text) : "");
      }
      table += fmt::format(",{},{},{},{:.3f},{},{}\n", record.best ? show(Value(*record.best)) : "", record.epochs,
                           record.steps, record.seconds, trial_name(record.number), doors::csv_cell(record.reason));
    }
    write_run_file(state_path(folder), OrderedJson{{"ltr", 1}, {"spec", spec()}, {"trials", trials}}.dump(1) + "\n");
    write_run_file(folder + "/results.csv", table);
  }

  static Str trial_name(int64_t number) { return fmt::format("trial-{:03}", number); }

  // ---- trials

  /// The options of every trial.
  std::vector<Str> options() const {
    std::vector<Str> words;
    for (const GivenOption& option : start_.line.options) {
      if (is_own_option(option.name)) continue;
      const OptionInfo* info = find_option(option.name);
      const bool is_flag = info != nullptr && info->is_flag();
      const bool is_limit = plan_.pruning && option.name == (plan_.pruning->in_epochs ? "epochs" : "steps");
      if (!is_limit) words.push_back(is_flag ? option.shown : option.shown + "=" + option.value);
    }
    if (plan_.pruning) {
      const int64_t own = plan_.pruning->in_epochs ? start_.trainer.epochs : start_.trainer.steps;
      const auto most = int64_t(plan_.pruning->most);
      words.push_back(
          fmt::format("--{}={}", plan_.pruning->in_epochs ? "epochs" : "steps", own >= 0 ? std::min(own, most) : most));
    }
    const Str threads = start_.line.get("threads");
    if (!threads.empty()) {
      words.push_back("--threads=" + threads);
    } else if (jobs_ > 1) {
      words.push_back(fmt::format("--threads={}", std::max<int64_t>(own_cores() / jobs_, 1)));
    }
    return words;
  }

  std::vector<Str> command(const TrialRecord& record) const {
    std::vector<Str> words = {start_.command[0], "fit", start_.experiment->name};
    for (const Str& word : options()) words.push_back(word);
    for (const TrialValue& one : record.values) words.push_back(fmt::format("--{}={}", one.name, one.text));
    for (const Str& word : {"--out=" + folder_ + "/" + trial_name(record.number), Str("--json"), Str("--resume=auto")})
      words.push_back(word);
    return words;
  }

  bool is_done(const TrialRecord& record) const { return record.state != "running"; }
  int64_t count_done() const {
    return std::ranges::count_if(records_, [&](const TrialRecord& one) { return is_done(one); });
  }

  void begin(int64_t number, int64_t slot) {
    auto known = std::ranges::find(records_, number, &TrialRecord::number);
    TrialRecord record = known != records_.end() ? *known : TrialRecord{.number = number};
    if (known == records_.end()) {
      if (auto values = values_of(plan_, number, start_)) {
        record.values = std::move(*values);
      } else {
        record.state = "refused";
        record.reason = "no values keep to the rules of the hparams";
      }
    }
    put(record);
    if (record.state == "refused") return tell(record);
    const Str folder = folder_ + "/" + trial_name(number);
    if (!hear_recorded(folder, record)) {
      record.state = "pruned";
      put(record);
      return tell(record);
    }
    std::error_code failed;
    fs::create_directories(folder, failed);
    std::vector<std::pair<Str, Str>> variables;
    if (!devices_.empty()) variables.emplace_back("CUDA_VISIBLE_DEVICES", devices_[size_t(slot)]);
    running_.push_back({std::make_unique<SweepTrial>(record, command(record), variables, folder + "/log.txt"), slot});
  }

  /// Takes the rounds that a run of the trial has recorded: a sweep that was killed has not heard of all of them, and who goes on
  /// behind a rung is not judged there again. False where one of them ends it.
  bool hear_recorded(const Str& folder, TrialRecord& record) {
    if (!plan_.pruning) return true;
    const Str run = find_run(folder, start_.experiment->name, start_.run_name(), "last");
    if (run.empty()) return true;
    const Str names[] = {recorded_name(plan_.target), recorded_name(plan_.target, "_epoch")};
    std::ifstream rows(run + "/log.jsonl");
    for (Str line; std::getline(rows, line);) {
      const nlohmann::json row = doors::try_json(line);
      if (!row.is_object() || !row.contains("values")) continue;
      for (const Str& name : names) {
        const auto value = row["values"].find(name);
        if (value == row["values"].end() || !value->is_number()) continue;
        record.note_round(plan_, row.value("epoch", int64_t(0)), row.value("step", int64_t(0)), *value);
        if (!reached(record, *value)) return false;
      }
    }
    return true;
  }

  void put(const TrialRecord& record) {
    const auto known = std::ranges::find(records_, record.number, &TrialRecord::number);
    if (known != records_.end())
      *known = record;
    else
      records_.insert(std::ranges::upper_bound(records_, record.number, {}, &TrialRecord::number), record);
    write(folder_);
  }

  // ---- pruning

  void note_rungs(const TrialRecord& record) {
    for (size_t i = 0; i < record.at_rungs.size(); ++i) {
      if (rungs_.size() <= i) rungs_.emplace_back();
      rungs_[i].push_back(record.at_rungs[i]);
    }
  }

  /// Whether a trial whose target is now `value` goes on: at each rung it must be among the best of each `eta` that
  /// came there.
  bool reached(TrialRecord& record, double value) {
    if (!plan_.pruning) return true;
    const double far = plan_.pruning->in_epochs ? record.epochs : double(record.steps);
    while (record.at_rungs.size() < plan_.pruning->rungs.size() &&
           far >= plan_.pruning->rungs[record.at_rungs.size()]) {
      const size_t rung = record.at_rungs.size();
      if (rungs_.size() <= rung) rungs_.emplace_back();
      std::vector<double>& seen = rungs_[rung];
      record.at_rungs.push_back(value);
      seen.push_back(value);
      const int64_t better = std::ranges::count_if(seen, [&](double other) { return plan_.is_better(other, value); });
      if (better >= std::max<int64_t>(int64_t(seen.size()) / plan_.pruning->eta, 1)) return false;
    }
    return true;
  }

  // ---- the loop

  /// The signal that ended it, or 0.
  int run_all() {
    int64_t next = 0;
    bool is_stopping = false;
    while (true) {
      for (int64_t slot = 0; slot < jobs_ && SignalWatch::received() == 0; ++slot) {
        if (std::ranges::any_of(running_, [&](const Running& one) { return one.slot == slot; })) continue;
        while (
            next < plan_.trials &&
            std::ranges::any_of(records_, [&](const TrialRecord& one) { return one.number == next && is_done(one); }))
          ++next;
        if (next < plan_.trials) begin(next++, slot);
      }
      const bool has_more = next < plan_.trials && SignalWatch::received() == 0;
      if (running_.empty() && !has_more) return SignalWatch::received();
      if (SignalWatch::received() != 0 && !std::exchange(is_stopping, true)) {
        for (const Running& one : running_) one.trial->stop();
      }
      listen();
    }
  }

  void listen() {
    constexpr int kLookEvery_ms = 100;
    std::vector<pollfd> events;
    for (const Running& one : running_) events.push_back({one.trial->events(), POLLIN, 0});
    if (::poll(events.data(), events.size(), events.empty() ? 0 : kLookEvery_ms) <= 0) return;
    for (size_t i = running_.size(); i-- > 0;) {
      SweepTrial& trial = *running_[i].trial;
      const bool is_under_way = events[i].revents == 0 || trial.take(plan_, [this](TrialRecord& record, double value) {
        const bool goes_on = reached(record, value);
        if (!goes_on) record.state = "pruned";
        put(record);  // a sweep that is killed knows it
        return goes_on;
      });
      if (is_under_way) continue;
      put(trial.record);
      if (is_done(trial.record)) tell(trial.record);
      running_.erase(running_.begin() + ptrdiff_t(i));
    }
  }

  Str target_text(const TrialRecord& record) const {
    return record.best ? fmt::format("{} {}", plan_.target, short_number(*record.best)) : plan_.target + " -";
  }

  void tell(const TrialRecord& record) const {
    if (start_.terminal.is_json) {
      Str members = as_json(record).dump();
      print_out(json_event("trial", members.substr(1, members.size() - 2)));
    } else if (!start_.terminal.is_quiet) {
      print_out(fmt::format("{}  {:<8}  {}  {}{}\n", trial_name(record.number), record.state, target_text(record),
                            values_text(record.values), record.reason.empty() ? "" : "  " + record.reason));
    }
  }

  // ---- the end

  int finish() {
    const TrialRecord* best = nullptr;
    std::map<Str, int64_t> counts;
    for (const TrialRecord& record : records_) {
      ++counts[record.state];
      const bool counts_as_one = record.best && (record.state == "finished" || record.state == "pruned");
      if (counts_as_one && (best == nullptr || plan_.is_better(*record.best, *best->best))) best = &record;
    }
    if (counts["finished"] == 0) {
      throw with_help(error_at(start_.experiment->location, err::nothing_found, "the sweep", "no trial finished"),
                      fmt::format("{}/results.csv says why; what each wrote is in its log.txt", folder_));
    }
    Str states;
    for (const auto& [state, count] : counts)
      states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
    Str again = fmt::format("{} fit {}", start_.called, start_.experiment->name);
    for (const Str& word : options()) again += " " + doors::shell_word(word);
    for (const TrialValue& one : best->values)
      again += fmt::format(" --{}", doors::shell_word(one.name + "=" + one.text));
    write_run_file(folder_ + "/DONE", fmt::format("{} {}\n", trial_name(best->number), target_text(*best)));
    if (start_.terminal.is_json) {
      print_out(
          json_event("end", fmt::format("\"best\":{},\"fit\":{}", as_json(*best).dump(), doors::json_string(again))));
      return 0;
    }
    print_out(fmt::format("finished: {}: {}\nbest  {}  {}, {}\n{}/results.csv · again:  {}\n",
                          plural(plan_.trials, "trial"), states, target_text(*best), trial_name(best->number),
                          values_text(best->values), folder_, again));
    return 0;
  }

  struct Running {
    std::unique_ptr<SweepTrial> trial;
    int64_t slot;  ///< of `--jobs`
  };

  Start& start_;
  SweepPlan plan_;
  int64_t jobs_ = 1;
  std::vector<Str> devices_;  ///< one for each job, where they need one
  Str folder_;
  std::vector<TrialRecord> records_;
  std::vector<std::vector<double>> rungs_;  ///< values of the target that came to each
  std::vector<Running> running_;
};

}  // namespace

int run_sweep(Start& start) {
  start.resolve();
  return Sweep(start).run();
}

}  // namespace ltr::cli
