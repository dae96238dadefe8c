#pragma once

// The command line as values. Own parser: options are partly the program's (hparams), and every fault is collected and
// answered with a suggestion.

#include <map>

#include "ltr/program.h"
#include "runtime/api/error.h"

namespace ltr::cli {

/// A row of options.def.
struct OptionInfo {
  const char* name;
  const char* argument;
  const char* verbs;
  const char* setting;
  const char* doc;
  bool is_flag() const { return argument[0] == '\0'; }
  bool is_optional() const { return argument[0] == '['; }
  bool is_served() const { return setting[0] != '!'; }
  bool belongs_to(const Str& verb) const;
  /// A run that goes on is given it again.
  bool is_for_resumes() const;
};
const std::vector<OptionInfo>& option_table();
/// The row of `name`, with `-` or `_`, or null.
const OptionInfo* find_option(const Str& name);

/// One option as given. `from` is "flag" or "env".
struct GivenOption {
  Str name;  ///< with `-`: `max-time`, or an hparam's name
  Str value;
  const char* from;
  Str shown;  ///< `--max-time`
  Option<Str> text =
      {};  ///< of the file that `--config` names: settings are resolved more than once, and a pipe is read once
};

struct CommandLine {
  Str verb;
  std::vector<Str> words;            ///< behind the verb: the experiment
  std::vector<GivenOption> options;  ///< weakest first
  bool wants_help = false;

  bool has(const Str& name) const;
  /// The value of the last one called `name`, or `otherwise`.
  Str get(const Str& name, const Str& otherwise = "") const;
};

/// Reads `LTR_ARGS` (`environment`, split as a shell does) and `arguments`. `names`: hparams and parameters of steps,
/// which are options too. Reads what `--config` names. Faults are R2001, R2003 and R2014.
CommandLine parse_command_line(const std::vector<Str>& arguments, const Str& environment, const std::vector<Str>& names,
                               std::vector<Error>& faults);

/// Words of `text` as a POSIX shell splits them: blanks, '…', "…", backslash.
std::vector<Str> split_words(const Str& text);

/// Where run folders are: `--out`, else LTR_OUT.
Str out_dir(const CommandLine& line);

}  // namespace ltr::cli
