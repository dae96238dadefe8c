// `fit`: run folder, loggers, the trainer, the report.

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/number.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/finders.h"
#include "runtime/cli/last_words.h"
#include "runtime/cli/locked.h"
#include "runtime/cli/model_table.h"
#include "runtime/cli/report.h"
#include "runtime/cli/requeue.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/step_params.h"
#include "runtime/cli/verbs.h"
#include "runtime/distributed/supervisor.h"
#include "runtime/loggers/make.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/bucket_trial.h"
#include "runtime/train/feed.h"
#include "runtime/train/series_name.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;

/// Where a `fit` goes on, if it does.
struct Resume {
  Str run;
  Str checkpoint;
  int64_t step = -1;
  std::vector<Str> notices;  ///< checkpoints that were passed over, and why
};

/// The checkpoint `what` of `out.run`. R2011 if all that there are are damaged; `may_be_none`: else there may be none.
void choose_checkpoint(const Start& start, Resume& out, const Str& what, bool may_be_none) {
  {
    // Nobody else may write here while leftovers are put right; R1007 if somebody does.
    const RunFolder held = RunFolder::hold(out.run);
    remove_leftovers(out.run + "/checkpoints");
  }
  out.checkpoint = find_checkpoint(out.run, what, &out.notices, true);
  if (!out.checkpoint.empty()) return;
  if (!out.notices.empty()) {
    throw with_help(
        Error(err::checkpoint_damaged.code,
              fmt::format("{} has no whole checkpoint to go on from: {}", out.run, fmt::join(out.notices, "; ")), {}),
        "to begin anew, use --resume none");
  }
  if (may_be_none) return;
  Error error = no_checkpoint(out.run, what, start.out_dir(), start.experiment->name, start.run_name());
  error.message += " to go on from";
  error.help += Str(error.help.empty() ? "" : "; ") + "to begin anew, use --resume none";
  throw error;
}

/// `--resume auto`: the newest unfinished run, else a new one, and never that without a word.
Resume find_auto(const Start& start) {
  Resume out;
  out.run = find_unfinished_run(start.out_dir(), start.experiment->name, start.run_name());
  if (out.run.empty()) return out;
  choose_checkpoint(start, out, "last", true);
  if (!out.checkpoint.empty()) return out;
  Resume anew;
  anew.notices.push_back(fmt::format("{} was stopped before its first checkpoint: a new run begins", out.run));
  return anew;
}

/// R2006 where `--run` names a run that nothing is taken of.
void refuse_idle_run(const Start& start) {
  const auto is_of_run = [&](const char* option) {
    const Str what = start.line.get(option);
    return what == "last" || what == "best";
  };
  if (!start.line.has("run") || is_of_run("resume") || is_of_run("weights")) return;
  throw with_help(
      error_at({}, err::settings_contradict,
               fmt::format("--run {}: a new run begins, which takes nothing of that one", start.line.get("run"))),
      fmt::format("--resume last --run {0} goes on with it, --weights best --run {0} begins with its weights; "
                  "--name gives the folder of a new run a suffix",
                  start.line.get("run")));
}

Resume find_resume(const Start& start) {
  refuse_idle_run(start);
  const Str what = start.line.get("resume", "none");
  Resume out;
  std::error_code failed;
  // One that was lost before it had begun left no folder.
  if (const Str run = distributed::run_to_go_on_with(); !run.empty() && fs::exists(run, failed)) {
    out.run = run;
    // From the beginning, where there was no checkpoint yet.
    choose_checkpoint(start, out, "last", true);
    return out;
  }
  if (what == "none") return out;
  if (what == "auto") {
    out = find_auto(start);
    if (out.run.empty()) return out;
  } else if (what == "last" || what == "best") {
    out.run = find_run(start.out_dir(), start.experiment->name, start.run_name(), start.line.get("run"));
    if (out.run.empty()) {
      throw with_help(
          error_at({}, err::checkpoint_misfit,
                   start.line.get("run").empty()
                       ? fmt::format("--resume {}: no run of {} in {}", what,
                                     runs_meant(start.experiment->name, start.run_name()), start.out_dir())
                       : fmt::format("--run {}: no such run of {} in {}", start.line.get("run"), start.experiment->name,
                                     start.out_dir())),
          "--resume auto goes on with a run if there is one and starts one if there is none; --out says where runs "
          "are");
    }
    choose_checkpoint(start, out, what, false);
  } else if (fs::exists(what + "/checkpoint.json", failed)) {
    out.checkpoint = fs::path(what).lexically_normal().string();
    if (out.checkpoint.back() == '/') out.checkpoint.pop_back();
    out.run = run_of_checkpoint(out.checkpoint);
  } else {
    out.run = find_run(start.out_dir(), start.experiment->name, start.run_name(), what);
    if (out.run.empty())
      throw with_help(
          error_at({}, err::checkpoint_misfit, fmt::format("--resume {}: neither a checkpoint nor a run", what)),
          "it takes auto, last, best, the folder of a checkpoint or of a run");
    choose_checkpoint(start, out, "last", false);
  }
  return out;
}

/// Other thread counts change sums: a resumed run keeps those of its first start.
void keep_threads(Start& start, const Str& run) {
  if (show(start.settings.value("topology.threads")) != "auto") return;
  std::ifstream file(run + "/run.json");
  const nlohmann::json json = doors::try_json(Str(std::istreambuf_iterator<char>(file), {}));
  if (!json.is_object() || !json.contains("topology")) return;
  start.threads = json["topology"].value("threads", start.threads);
}

std::map<Str, doors::HparamValue> logged_hparams(const RunSettings& settings) {
  std::map<Str, doors::HparamValue> out;
  for (const Resolved& setting : settings.resolved()) {
    if (setting.path.find('.') != Str::npos) continue;
    switch (setting.value.kind) {
      case Value::Kind::Bool: out[setting.path] = setting.value.as_bool(); break;
      case Value::Kind::Int: out[setting.path] = double(setting.value.whole); break;
      case Value::Kind::Float: out[setting.path] = setting.value.real; break;
      default: out[setting.path] = show(setting.value);
    }
  }
  return out;
}

/// A folder that goes away: what `run.dir` is for `--fast-dev-run` and `--bare`.
struct Temporary {
  Temporary() {
    Str name = (fs::temp_directory_path() / "ltr-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw error_at({}, err::cannot_write, name, std::generic_category().message(errno));
    path = name;
  }
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  Str path;
};

/// One `fit` from its folder to its report.
class FitVerb {
 public:
  explicit FitVerb(Start& start) : start_(start) {}

  int run() {
    start_.resolve();
    resume_ = agreed_resume();
    if (const Option<int> code = look_for_settings()) return *code;
    if (!resume_.run.empty()) keep_threads(start_, resume_.run);
    start_.set_up_device();
    start_.know_from(resume_.checkpoint);
    start_.build();
    if (start_.line.has("locked")) check_lock(start_);
    load_given_weights();
    is_kept_ = start_.flags.fast_dev_run == 0 && !start_.flags.bare;
    writes_ = is_kept_ && start_.ranks.is_first();
    // From here on there is something to leave in order.
    SignalWatch::enter(SignalPhase::Gather);
    progress_ = make_progress(start_.terminal);
    FitReport report;
    try {
      guarded([&] {
        open_folder();
        for (const Str& text : start_.strategy.warnings) progress_->warning(text);
        report = train();
      });
    } catch (const Error& error) {
      progress_->end();
      fail(error);
      throw with_memory(error, start_);
    }
    SignalWatch::enter(SignalPhase::End);
    if (start_.flags.memory) report.steps_text = memory_table(start_) + "\n" + report.steps_text;
    if (writes_ && !report.steps_text.empty()) {
      std::filesystem::create_directories(dir_ + "/profile");
      write_run_file(dir_ + "/profile/steps.txt", report.steps_text);
      if (!report.trace.empty()) write_run_file(dir_ + "/profile/trace.json", report.trace);
    }
    const Option<Error> lost = finish(report);
    if (start_.terminal.is_json) {
      if (!report.steps_text.empty())
        print_out(json_event("profile", "\"text\": " + doors::json_string(report.steps_text)));
      print_out(json_event("end", end_members(report)));
    } else {
      print_out((report.steps_text.empty() ? "" : report.steps_text + "\n") +
                end_report(start_, report, is_kept_ ? dir_ : ""));
    }
    copy_output_to("");
    if (lost) throw *lost;
    if (report.signal != 0) requeue_job(report.signal);
    return report.exit_code;
  }

 private:
  /// What the first rank finds: it alone puts leftovers right while it looks.
  Resume agreed_resume() const {
    Resume found = start_.ranks.is_first() ? find_resume(start_) : Resume();
    found.run = start_.ranks.of_first(found.run);
    found.checkpoint = start_.ranks.of_first(found.checkpoint);
    if (!found.checkpoint.empty()) found.step = read_manifest(found.checkpoint).at("step").get<int64_t>();
    return found;
  }

  /// What finders are asked for; what the program exits with if it ends with them.
  Option<int> look_for_settings() {
    finders_.emplace(start_);
    if (!finders_->are_asked()) return std::nullopt;
    if (resume_.run.empty()) return finders_->run();
    finders_->take_from(resume_.run);
    return std::nullopt;
  }

  FitReport train() {
    const Str name = is_kept_ ? fs::path(dir_).filename().string() : start_.run_name();
    start_.settings.set_run(dir_, name);
    start_.list_callbacks();
    start_.check();
    at({});  // what goes wrong from here on is not the fault of the line that ran last
    RunRequest request = start_.request(*progress_);
    request.run_dir = dir_;
    request.run_name = name;
    request.resume = resume_.checkpoint;
    give_predict_params(start_, request);
    if (request.travel.bucket_bytes == 0 && start_.ranks.world() > 1) {
      if (const Option<Str> note = settle_buckets(start_.root->state(), request.travel)) progress_->notice(*note);
    }
    const Str head = headline(start_, is_kept_ ? dir_ : "", request), table = model_table(start_);
    const int64_t planned = planned_steps(request);
    const Str plan = plan_line(start_, planned);
    for (const Str& notice : resume_.notices) progress_->notice(notice);
    if (writes_) copy_output_to(log_path());
    if (start_.terminal.is_json) {
      print_out(
          json_event("start", fmt::format("\"experiment\":{},\"run\":{},\"seed\":{},\"steps\":{}",
                                          doors::json_string(start_.experiment->name),
                                          doors::json_string(is_kept_ ? dir_ : ""), start_.trainer.seed, planned)));
    } else if (!start_.terminal.is_quiet) {
      print_out(head + (shows_model(start_) ? table : "") + plan);
    }
    return fit(request, [&] {
      if (writes_)
        begin_record(head + table + plan);
      else if (is_kept_)
        copy_output_to(log_path());
      request.recorder = recorder_.get();
    });
  }

  /// What this rank says; of all but the first it stands there alone.
  Str log_path() const { return fmt::format("{}/log-{}.txt", dir_, start_.ranks.rank()); }

  /// The first rank's; the others learn where it is.
  void open_folder() {
    if (writes_ && resume_.run.empty())
      folder_.emplace(RunFolder::create(start_.out_dir(), start_.experiment->name, start_.run_name()));
    else if (writes_)
      folder_.emplace(RunFolder::reopen(resume_.run));
    else if (start_.ranks.is_first())
      temporary_.emplace();
    if (folder_ && start_.tell_run) start_.tell_run({folder_->path(), resume_command(start_, folder_->path())});
    record_.hosts = hosts_of(start_.ranks.texts(host_name()));
    dir_ = start_.ranks.of_first(folder_ ? folder_->path() : temporary_ ? temporary_->path : "");
  }

  void load_given_weights() {
    const Str which = start_.line.get("weights");
    if (!resume_.checkpoint.empty() && !which.empty() && which != "new")
      throw error_at({}, err::settings_contradict, "--weights and --resume exclude each other");
    take_given_weights(start_);
  }

  /// SLURM sends SIGUSR1 some time before a job's end, if its file says so. SIGTERM is of who cancels it, or takes the nodes away
  /// and puts it into the queue by itself.
  void requeue_job(int signal) const {
    const bool scheduler_asks = show(start_.settings.value("topology.scheduler")) == "slurm" &&
                                start_.settings.value("topology.scheduler.requeue").as_bool();
    if (!writes_ || !is_requeued(signal, start_.settings.callbacks(), scheduler_asks)) return;
    if (const Option<Str> job = slurm_job(distributed::process_environment())) requeue(*job, *progress_);
  }

  /// Everything is accepted: from here on the run's files are written. A resume that is refused has changed none of them.
  void begin_record(const Str& block) {
    const Str& dir = folder_->path();
    std::error_code ignored;
    fs::remove(dir + "/DONE", ignored);
    write_run_file(dir + "/config.json", start_.settings.to_json());
    for (const Finding& finding : finders_->findings()) write_run_file(dir + "/" + finding.file, finding.table);
    write_run_file(dir + "/summary.txt", block);
    write_sources(dir, start_.program);
    record_.experiment = start_.experiment->name;
    record_.run = folder_->folder_name();
    record_.started = time_text();
    record_.topology = start_.topology != nullptr ? start_.topology->name : "";
    record_.precision = start_.precision;
    record_.threads = start_.threads;
    record_.world = start_.ranks.world();
    record_.seed = start_.trainer.seed;
    record_.command = start_.command;
    for (const StreamSize& size : stream_sizes(start_)) record_.data.push_back({size.name, size.samples, size.batches});
    write_record();
    const loggers::Warn warn = [this](const Str& text) { progress_->warning(text); };
    const loggers::LoggerSetup setup{dir, resume_.step, logged_hparams(start_.settings), start_.experiment->name, warn};
    auto recorder = std::make_unique<loggers::Recorder>(loggers::make_loggers(start_.settings.loggers(), setup), warn);
    // The last that may be refused: it may make folders elsewhere.
    link_checkpoints(dir, start_.experiment->name, start_.settings.callbacks());
    recorder_ = std::move(recorder);
    recorder_->event(std::max(resume_.step, int64_t(0)), resume_.step >= 0 ? "resume" : "start",
                     resume_.step >= 0
                         ? "\"checkpoint\":" + doors::json_string(fs::path(resume_.checkpoint).filename().string())
                         : "");
  }

  /// `run.json` as it is now, and as it shall be if the process ends at once.
  void write_record() {
    write_run_file(folder_->path() + "/run.json", run_record_text(record_, start_.program));
    if (record_.status != "running") return set_last_words(nullptr);
    LastWords words{
        folder_->path(), folder_->path() + "/checkpoints", resume_command(start_, folder_->path()), "", "", {}};
    RunRecord ended = record_;
    ended.status = "failed";
    ended.reason = "R1009: crashed";
    words.record_crashed = run_record_text(ended, start_.program);
    ended.reason = "R1010: stopped without saving";
    ended.exit_code = 1;
    words.record_stopped = run_record_text(ended, start_.program);
    words.record_failed = [ended, &program = start_.program](const Error& error) {
      RunRecord failed = ended;
      failed.reason = error.code + ": " + error.message;
      return run_record_text(failed, program);
    };
    set_last_words(&words);
  }

  void close_record(const char* event, int64_t step, const Str& json) {
    recorder_->event(step, event, json);
    recorder_->close();
    record_.ended = time_text();
    write_record();
  }

  void fail(const Error& error) {
    if (!writes_) return;
    if (recorder_ == nullptr) {
      // A refused run leaves no folder, which would hide the ones before; a refused resume leaves the run as it is.
      set_last_words(nullptr);
      if (folder_ && resume_.run.empty()) folder_->discard();
      return;
    }
    record_.status = "failed";
    record_.exit_code = error.exit_code();
    record_.reason = error.code + ": " + error.message;
    try {
      close_record(
          "fail", std::max(resume_.step, int64_t(0)),
          fmt::format("\"code\":{},\"reason\":{}", doors::json_string(error.code), doors::json_string(error.message)));
    } catch (const Error& second) {
      progress_->warning(second.message);  // what went wrong first is what is reported
    }
    if (error.exit_code() == 1 && distributed::begins_again()) return;
    tell_how_to_go_on(start_.terminal, folder_->path(), resume_command(start_, folder_->path()));
  }

  /// Why the result of the run is lost, if it is.
  Option<Error> finish(const FitReport& report) {
    if (!writes_) return std::nullopt;
    const bool is_interrupted = report.exit_code == 75 || report.exit_code == 130;
    record_.status = report.exit_code == 0 ? "finished" : is_interrupted ? "interrupted" : "failed";
    record_.exit_code = report.exit_code;
    record_.reason = report.reason.empty() ? report.outcome : report.outcome + ": " + report.reason;
    if (!report.best.empty() && !std::isnan(report.best[0].value)) {
      record_.best_metric = recorded_name(report.best[0].series);
      record_.best_value = report.best[0].value;
      record_.best_checkpoint = inside(folder_->path(), report.best[0].path);
    }
    try {
      if (!folder_->is_there())
        throw error_at({}, err::cannot_write, folder_->path(), "it was deleted while the run wrote into it");
      close_record(report.exit_code == 0 ? "finish"
                   : is_interrupted      ? "stop"
                                         : "fail",
                   report.steps,
                   fmt::format("\"reason\":{},\"exit_code\":{}", doors::json_string(record_.reason), report.exit_code));
      if (report.exit_code == 0) write_done(report);
    } catch (const Error& error) {
      recorder_->close();
      return error;
    }
    return std::nullopt;
  }

  void write_done(const FitReport& report) const {
    Str done = fmt::format("steps {}\nseconds {}\n", report.steps, doors::shortest(report.total_s));
    for (const Best& best : report.best) {
      if (!std::isnan(best.value))
        done +=
            fmt::format("best {} {} at step {}\n", recorded_name(best.series), doors::shortest(best.value), best.step);
    }
    write_run_file(folder_->path() + "/DONE", done);
  }

  Str end_members(const FitReport& report) const {
    const Division::Held held = held_of(*start_.root);
    Str out = fmt::format(
        "\"step\":{},\"epoch\":{},\"outcome\":{},\"reason\":{},\"exit_code\":{},\"left_out\":{},\"seconds\":{},"
        "\"planning_s\":{},\"plan_bytes\":{},\"exchange_s\":{},\"exchange_wait_s\":{},\"held_bytes\":{:.0f},\"values\":"
        "{{",
        report.steps, report.epochs, doors::json_string(report.outcome), doors::json_string(report.reason),
        report.exit_code, report.left_out, doors::json_number(report.total_s), doors::json_number(report.planning_s),
        report.plan_bytes, doors::json_number(report.exchanged.exchange_s), doors::json_number(report.exchanged.wait_s),
        held.weights + held.gradients + held.states);
    for (const auto& [name, value] : report.last) {
      if (out.back() != '{') out += ',';
      out += doors::json_string(recorded_name(name)) + ":" + doors::json_number(value);
    }
    return out + "}";
  }

  Start& start_;
  Resume resume_;
  Option<Finders> finders_;
  bool is_kept_ = true;
  bool writes_ = false;  ///< into a folder that is kept
  Str dir_;
  Option<RunFolder> folder_;
  Option<Temporary> temporary_;
  RunRecord record_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<loggers::Recorder> recorder_;  // there once the run has begun; warns through `progress_`
};

}  // namespace

int run_fit(Start& start) { return is_trial() ? run_trial(start) : FitVerb(start).run(); }

}  // namespace ltr::cli
