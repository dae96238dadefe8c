// `ltr::main`: the command line of a generated program.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <string_view>

#include "doors/number.h"
#include "doors/shell.h"
#include "ltr/program.h"
#include "runtime/api/suggest.h"
#include "runtime/cli/batch_trial.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/last_words.h"
#include "runtime/cli/rank_plan.h"
#include "runtime/cli/report.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/verbs.h"
#include "runtime/cli/version.h"
#include "runtime/distributed/error_file.h"
#include "runtime/distributed/first_word.h"
#include "runtime/distributed/heartbeat.h"
#include "runtime/distributed/join.h"
#include "runtime/distributed/meeting_file.h"
#include "runtime/distributed/store.h"
#include "runtime/distributed/supervisor.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/memory_pool.h"
#include "runtime/train/signals.h"

namespace ltr {

namespace {

using namespace cli;

/// Prints errors for people, or as events.
int report(const std::vector<Error>& errors, const Program& program, const Terminal& terminal) {
  mute_output(false);  // whichever rank fails says why
  if (terminal.is_json) {
    for (const Error& error : errors) {
      print_out(fmt::format(
          "{{\"event\":\"error\",\"code\":{},\"message\":{},\"file\":{},\"line\":{},\"column\":{},\"help\":{}}}\n",
          doors::json_string(error.code), doors::json_string(error.message), doors::json_string(error.location.file),
          error.location.line, error.location.column, doors::json_string(error.help)));
    }
  } else {
    const Str text = render(errors, program);
    print_err(terminal.has_color && text.starts_with("error") ? "\x1b[1;31merror\x1b[0m" + text.substr(5) : text);
  }
  return exit_code(errors);
}

/// The fault of a verb that is none, or none of this version.
Error verb_fault(const Str& verb) {
  std::vector<Str> names;
  if (find_verb(verb) != nullptr)
    return error_at({}, err::settings_contradict, fmt::format("the verb {} is not in this version", verb));
  for (const VerbInfo& info : verb_table()) {
    if (info.is_served() && info.doc[0] != '\0') names.emplace_back(info.name);
  }
  const Str near = nearest(verb, names);
  return Error(err::unknown_option.code,
               fmt::format("no verb {}{} (verbs are: {})", verb,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")),
               {});
}

/// What went wrong in `body`, or nothing.
template <class Body>
std::vector<Error> faults_of(const Body& body) {
  try {
    guarded(body);
    return {};
  } catch (const Faults& found) {
    return found.list;
  } catch (const Error& error) {
    return {error};
  } catch (const std::exception& error) {
    return {error_at({}, err::crashed, error.what())};
  }
}

/// One run of the program, or of one rank of it.
class Run {
 public:
  Run(const VerbInfo& verb, const Program& program, const CommandLine& line, const Terminal& terminal,
      const std::vector<Str>& command)
      : verb_(verb), program_(program), line_(line), terminal_(terminal), command_(command) {}

  int run() {
    const std::vector<Error> faults = faults_of([&] { start(); });
    return faults.empty() ? exit_code_ : fail(faults);
  }

 private:
  void start() {
    launch_ = distributed::find_launch(distributed::process_environment(), line_.get("launcher"));
    const bool is_heard = (!launch_.has_ranks || launch_.place.rank == 0) && !is_trial();
    SignalWatch::set_silent(!is_heard);
    mute_output(!is_heard);
    if (!verb_.has_ranks) return run_verb(one_rank(), {}, {});
    const RankPlan plan = plan_ranks(program_, line_, terminal_, launch_);
    if (plan.is_supervisor) return supervise(plan);
    if (plan.place.world == 1 && !plan.is_supervised) return run_verb(one_rank(), plan, plan.place);
    run_rank(plan);
  }

  void run_rank(const RankPlan& plan) {
    distributed::Place place = plan.place;
    Option<distributed::MeetingFile> file;
    if (place.host.empty()) file.emplace(place, plan.out_dir, plan.job, std::chrono::seconds(int64_t(place.join_s)));
    Option<distributed::Heartbeat> heartbeat;
    if (plan.is_supervised) heartbeat.emplace(place);
    if (place.world > 1) ranks_ = distributed::join(place, plan.timeout_s);
    file.reset();
    const bool is_told = place.world > 1 && !terminal_.is_quiet && !terminal_.is_json && terminal_.has_notices;
    if (is_told) print_err(distributed::describe_launch(place) + "\n");
    run_verb(ranks_ != nullptr ? *ranks_ : one_rank(), plan, place);
  }

  void run_verb(const Ranks& ranks, const RankPlan& plan, const distributed::Place& place) {
    Start start(program_, line_, terminal_, ranks);
    // `ltrc run` has made a line of two words of itself.
    start.called = command_[0].starts_with("ltrc run ") ? command_[0] : doors::shell_word(command_[0]);
    start.command = command_;
    start.is_alone = !verb_.has_ranks;
    start.sharing = plan.sharing;
    start.local_rank = place.local_rank;
    start.place = place;
    if (plan.is_supervised)
      start.tell_run = [&](const distributed::RunWords& run) { distributed::tell_run(plan.place, run); };
    exit_code_ = verb_.run(start);
    // The result of `fit` is the run; of all others it is what they print.
    if (verb_.run != run_fit) check_output();
  }

  /// This process starts the ranks of its machine and does nothing else.
  void supervise(const RankPlan& plan) {
    const distributed::TeamReport report_on{[&](const Error& error) { report({error}, program_, terminal_); },
                                            [&](const Error& error, const distributed::RunWords& run, bool is_mute) {
                                              record_loss(run.folder, error);
                                              if (is_mute) tell_how_to_go_on(terminal_, run.folder, run.resume);
                                            },
                                            [&](const Str& text) { make_progress(terminal_)->warning(text); }};
    // Signals are the ranks' from here on; one that finds none of them any more finds nothing to stop.
    SignalWatch::enter(SignalPhase::Over);
    exit_code_ = distributed::supervise({command_, plan.place, plan.restarts, plan.least}, report_on);
  }

  /// Whether a signal came to all ranks, and this one lost another that was still starting and ended by it.
  static bool was_told_to_leave(const Error& error) {
    return error.is_of_another && SignalWatch::phase() == SignalPhase::Gather && SignalWatch::received() != 0;
  }

  /// Who says why; what this one met is for who looks into its log.
  int leave_it_to_another(const std::vector<Error>& faults, int exit_code) const {
    print_copy(render(faults, program_));
    return exit_code;
  }

  int fail(const std::vector<Error>& faults) {
    if (was_told_to_leave(faults.front())) return SignalWatch::exit_code(SignalWatch::received());
    const int own_code = cli::exit_code(faults);
    Option<distributed::FirstWord> word;
    if (ranks_ != nullptr) {
      if (const Option<int> code = ranks_->failing(faults.front())) return leave_it_to_another(faults, *code);
    } else if (launch_.is_supervised) {
      if (const auto first = distributed::tell_failure(launch_.place, own_code))
        return leave_it_to_another(faults, first->exit_code);
    } else if (launch_.has_ranks && launch_.place.world > 1 && own_code == 2) {
      // What is wrong with the settings is wrong on all of them.
      word.emplace(launch_.place, distributed::Failure{launch_.place.rank, own_code});
      if (!word->is_own()) return own_code;
    }
    distributed::write_error_file(render(faults, program_));
    return report(faults, program_, terminal_);
  }

  const VerbInfo& verb_;
  const Program& program_;
  const CommandLine& line_;
  const Terminal& terminal_;
  const std::vector<Str>& command_;
  distributed::Launch launch_ = {.has_ranks = false};
  std::unique_ptr<Ranks> ranks_;
  int exit_code_ = 0;
};

/// R2001 for parameters of steps that the verb does not run.
void refuse_params_of_others(const Program& program, const VerbInfo& verb, const CommandLine& line,
                             const std::vector<HparamInfo>& hparams, std::vector<Error>& faults) {
  for (const GivenOption& given : line.options) {
    const bool is_hparam =
        std::ranges::any_of(hparams, [&](const HparamInfo& info) { return given.name == info.name; });
    if (is_hparam || find_option(given.name) != nullptr || Str(given.from) != "flag") continue;
    std::set<Str> others;
    bool is_own = false;
    for (const ExperimentInfo& experiment : program.experiments) {
      for (const StepInfo& step : experiment.steps) {
        const bool has_it =
            std::ranges::any_of(step.params, [&](const StepParam& param) { return given.name == param.name; });
        if (!has_it) continue;
        others.insert(Str("step ") + step.name);
        is_own = is_own || std::ranges::count(verb.roles, step.role) > 0;
      }
    }
    if (is_own || others.empty()) continue;
    faults.push_back(with_help(error_at({}, err::unknown_option, fmt::format("{} for {}", given.shown, verb.name)),
                               fmt::format("it is given to {}", fmt::join(others, ", "))));
  }
}

int run(const std::vector<Str>& command, const Program& program) {
  const std::vector<Str> arguments(command.begin() + 1, command.end());
  const char* variable = std::getenv("LTR_ARGS");
  std::vector<HparamInfo> hparams;
  const std::vector<Str> names = option_names(program, hparams);
  std::vector<Error> faults;
  CommandLine line = parse_command_line(arguments, variable != nullptr ? variable : "", names, faults);
  const Str color = line.get("color", "auto");
  Terminal terminal = make_terminal(line.has("quiet"), line.has("json"), line.has("no-bar"), color);
  if (color != "auto" && color != "always" && color != "never") {
    faults.push_back(error_at({}, err::wrong_type, "--color", '"' + color + '"', "auto, always or never"));
  }
  const Str level = line.get("log-level", "info");
  terminal.has_notices = level == "info" || level == "debug";
  terminal.has_warnings = terminal.has_notices || level == "warn";
  if (!terminal.has_warnings && level != "error") {
    faults.push_back(error_at({}, err::wrong_type, "--log-level", '"' + level + '"', "error, warn, info or debug"));
  }
  const VerbInfo* const verb = find_verb(line.verb);
  if (verb != nullptr) refuse_params_of_others(program, *verb, line, hparams, faults);
  const bool is_verb = line.verb.empty() || (verb != nullptr && verb->is_served());
  if (!is_verb) faults.insert(faults.begin(), verb_fault(line.verb));
  if (!faults.empty() && !(line.wants_help && is_verb)) {
    // What is wrong with the settings is said in the same run, where they can be read at all.
    if (verb != nullptr && verb->run != nullptr && !program.experiments.empty()) {
      Start start(program, line, terminal);
      start.is_alone = true;  // nobody has asked yet how many ranks there are
      try {
        start.resolve();
      } catch (const Faults& more) {
        faults.insert(faults.end(), more.list.begin(), more.list.end());
      }
    }
    return report(faults, program, terminal);
  }
  if (line.verb.empty() || line.wants_help) {
    print_out(help_text(program, line, hparams));
    check_output();
    return 0;
  }
  if (verb->run_plain != nullptr) {
    const int code = verb->run_plain(program, line);
    check_output();
    return code;
  }
  return Run(*verb, program, line, terminal, command).run();
}

/// What the process exits with. Every error has been said.
int exit_code_of(int argc, char** argv, const Program& program) {
  try {
    return guarded([&] {
      prepare_process();
      use_memory_pool();
      return run({argv, argv + argc}, program);
    });
  } catch (const Error& error) {
    return report({error}, program, {});
  } catch (const std::exception& error) {
    return report({error_at({}, err::crashed, error.what())}, program, {});
  }
}

}  // namespace

int main(int argc, char** argv, const Program& program) {
  distributed::end_with_supervisor();
  distributed::quiet_c10d();
  // Before anything that takes its time: a signal finds its handler from here on.
  const SignalWatch signals(SignalPhase::Start);
  int code = 1;
  try {
    code = exit_code_of(argc, argv, program);
  } catch (const std::bad_alloc&) {
    // There is no room even to say it in the usual way.
    constexpr std::string_view kWords = "error[R1001]: out of memory: the host has no memory left\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
  }
  SignalWatch::enter(SignalPhase::Over);
  return code;
}

}  // namespace ltr
