#include <fmt/core.h>

#include <set>

#include "codegen/ir/tables.h"
#include "codegen/ir/unplanned.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/fix.h"
#include "ltrc/lock.h"

namespace ltr::driver {

namespace {

void list_obligations(const Compilation& compilation) {
  size_t counts[3] = {0, 0, 0};
  for (const check::Obligation& obligation : compilation.program->obligations) {
    const auto place = compilation.sources.position(obligation.span).begin;
    fmt::print("{}:{}:{}: {:<11}  {}  ({})\n", compilation.sources.path(obligation.span.source), place.line,
               place.column, check::word_of(obligation.fate), obligation.text, obligation.why);
    ++counts[size_t(obligation.fate)];
  }
  fmt::print("{} proven, {} at start, {} on the first batch\n", counts[0], counts[1], counts[2]);
}

/// Which steps are known to have no plan, and why.
void list_steps(Compilation& compilation) {
  const ir::Module module = to_ir(compilation, "", nullptr);
  std::set<std::string> lines;  // experiments share steps
  for (const ir::ExperimentInfo& experiment : module.tables->experiments) {
    for (const ir::StepInfo& step : experiment.steps) {
      const std::optional<ir::UnplannedOp> found = ir::find_unplanned(module, step.fn);
      const ir::Loc& place = found ? found->loc : step.loc;
      const std::string line =
          fmt::format("{}:{}:{}: {:<11}  step {}  ({})", module.files[place.file], place.line, place.column,
                      found ? "op by op" : "planned", step.name,
                      found ? fmt::format("it {}", reason_of(found->what)) : "as far as the program tells");
      if (lines.insert(line).second) fmt::print("{}\n", line);
    }
  }
}

}  // namespace

int run_check(const CheckOptions& options, const Common& common) {
  int status = kOk;
  for (const std::string& file : options.files) {
    auto held = std::make_unique<Compilation>();
    Compilation& compilation = *held;
    if (!options.fix) {
      analyze(file, common, compilation);
    } else if (!fix_file(file, common, compilation)) {
      status = kErrors;
    }
    warn_of_lock(file, compilation);
    const int one = report(compilation, common);
    if (one != kOk) status = one;
    if (options.verbose && compilation.program && one == kOk) {
      list_obligations(compilation);
      list_steps(compilation);
    }
    if (common.time) {
      for (const auto& [phase, wall_ms] : compilation.times_ms)
        fmt::print(stderr, "{:<8} {:8.2f} ms\n", phase, wall_ms);
    }
    // The process ends behind the last file: its memory goes back as a whole, and not piece by piece.
    if (&file == &options.files.back()) {
      [[maybe_unused]] static const Compilation* const last = held.release();
    }
  }
  return status;
}

}  // namespace ltr::driver
