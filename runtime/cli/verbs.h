#pragma once

// The verbs of a program: one function each, which gives the exit code.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

struct VerbInfo {
  const char* name;
  char letter;      ///< in the table of options
  const char* doc;  ///< "" for what `ltrc` alone calls
  int (*run)(Start& start) = nullptr;
  int (*run_plain)(const Program& program, const CommandLine& line) = nullptr;  ///< of a verb that needs no experiment
  bool has_ranks = false;        ///< several processes may do it together; the others run alone
  std::vector<Role> roles = {};  ///< of the steps whose parameters it takes
  bool is_served() const { return run != nullptr || run_plain != nullptr; }
};
const std::vector<VerbInfo>& verb_table();
/// The row of `name`, or null.
const VerbInfo* find_verb(const Str& name);

int run_fit(Start& start);
int run_validate(Start& start);
int run_test(Start& start);
int run_predict(Start& start);
int run_serve(Start& start);
int run_describe(Start& start);
int run_sweep(Start& start);
int run_config(Start& start);
int run_report(const Program& program, const CommandLine& line);
int run_checkpoints(const Program& program, const CommandLine& line);
int run_version(const Program& program, const CommandLine& line);
/// The hidden verb `__tests` of `ltrc test`.
int run_tests(const Program& program, const CommandLine& line);

/// The run, of any experiment, that the word behind a verb or `--run` means; the newest without them. R2001 for a second word,
/// R2010 if there is none.
Str named_run(const Program& program, const CommandLine& line);

/// `./x`, `--help` and `VERB --help`.
Str help_text(const Program& program, const CommandLine& line, const std::vector<HparamInfo>& hparams);

}  // namespace ltr::cli
