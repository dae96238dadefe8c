#pragma once

// One function per verb; each gives the exit code.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

int run_fit(Start& start, const std::vector<Str>& command);
/// `validate` and `test`.
int run_evaluate(Start& start, Role role);
int run_predict(Start& start);
int run_describe(Start& start);
int run_config(Start& start);
/// The hidden verb `__tests` of `ltrc test`.
int run_tests(const Program& program, const CommandLine& line);

/// `./x`, `--help` and `VERB --help`.
Str help_text(const Program& program, const CommandLine& line, const std::vector<HparamInfo>& hparams);

}  // namespace ltr::cli
