// `ltr::main`: the command line of a generated program.

#include <cstdlib>

#include "doors/number.h"
#include "doors/shell.h"
#include "ltr/program.h"
#include "runtime/api/suggest.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/last_words.h"
#include "runtime/cli/value_text.h"
#include "runtime/cli/verbs.h"
#include "runtime/cli/version.h"
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
    if (info.doc[0] != '\0') names.emplace_back(info.name);
  }
  const Str near = nearest(verb, names);
  return Error(err::unknown_option.code,
               fmt::format("no verb {}{} (verbs are: {})", verb,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")),
               {});
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
  const bool is_verb = line.verb.empty() || (verb != nullptr && verb->is_served());
  if (!is_verb) faults.insert(faults.begin(), verb_fault(line.verb));
  if (!faults.empty() && !(line.wants_help && is_verb)) {
    // What is wrong with the settings is said in the same run, where they can be read at all.
    if (verb != nullptr && verb->run != nullptr && !program.experiments.empty()) {
      Start start(program, line, terminal);
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
  Start start(program, std::move(line), terminal);
  // `ltrc run` has made a line of two words of itself.
  start.called = command[0].starts_with("ltrc run ") ? command[0] : doors::shell_word(command[0]);
  start.command = command;
  try {
    const int code = verb->run(start);
    // The result of `fit` is the run; of all others it is what they print.
    if (verb->run != run_fit) check_output();
    return code;
  } catch (const Faults& found) {
    return report(found.list, program, terminal);
  } catch (const Error& error) {
    return report({error}, program, terminal);
  }
}

}  // namespace

int main(int argc, char** argv, const Program& program) {
  // Before anything that takes its time: a signal finds its handler from here on.
  const SignalWatch signals(SignalPhase::Start);
  prepare_process();
  use_memory_pool();
  const std::vector<Str> command(argv, argv + argc);
  try {
    return guarded([&] { return run(command, program); });
  } catch (const Error& error) {
    return report({error}, program, {});
  } catch (const std::exception& error) {
    return report({error_at({}, err::crashed, error.what())}, program, {});
  }
}

}  // namespace ltr
