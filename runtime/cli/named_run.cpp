#include <filesystem>
#include <system_error>

#include "runtime/cli/run_folder.h"
#include "runtime/cli/verbs.h"

namespace ltr::cli {

namespace fs = std::filesystem;

Str named_run(const Program& program, const CommandLine& line) {
  if (line.words.size() > 1)
    throw error_at({}, err::unknown_option,
                   fmt::format("for the word {}; the run is {}", line.words[1], line.words[0]));
  const Str which = line.words.empty() ? line.get("run") : line.words[0];
  const Str out = out_dir(line);
  Str found;
  fs::file_time_type newest;
  for (const ExperimentInfo& experiment : program.experiments) {
    const Str run = find_run(out, experiment.name, line.get("name"), which);
    if (run.empty()) continue;
    std::error_code failed;
    const fs::file_time_type time = fs::last_write_time(run, failed);
    if (!found.empty() && time <= newest) continue;
    found = run;
    newest = time;
  }
  if (!found.empty()) return found;
  throw with_help(
      error_at({}, err::checkpoint_misfit,
               which.empty() ? fmt::format("no run in {}", out) : fmt::format("no run {} in {}", which, out)),
      "it takes the folder, number or name of a run; --out says where runs are");
}

}  // namespace ltr::cli
