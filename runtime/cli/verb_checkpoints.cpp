// `checkpoints`: what a run has to go on from, verified; `--repair` puts its links and leftovers right.

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "runtime/checkpoint/folder.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/verbs.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;

struct Kept {
  Str name;
  Str damage;  ///< "" if it is whole
  int64_t step = -1;
  int64_t bytes = 0;
  int64_t world = 1;
  bool has_weights_only = false;
};

/// The run of any experiment that `which` means; the newest if it is empty. R2010 if there is none.
Str run_of(const Program& program, const CommandLine& line, const Str& which) {
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
  throw with_help(error_at({}, err::checkpoint_misfit,
                           which.empty() ? fmt::format("no run in {}", out) : fmt::format("no run {} in {}", which, out)),
                  "it takes the folder, number or name of a run; --out says where runs are");
}

Kept kept_of(const Str& folder, const Str& name) {
  const Str path = folder + "/" + name;
  Kept row{name, verify_checkpoint(path)};
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) row.bytes += int64_t(entry.file_size());
  }
  if (!row.damage.empty()) return row;
  const nlohmann::json manifest = read_manifest(path);
  row.step = manifest.value("step", int64_t(-1));
  row.world = manifest.value("world", int64_t(1));
  row.has_weights_only = manifest.value("weights_only", false);
  return row;
}

/// Leftovers of writers that died go, and `last` shows the newest checkpoint that is whole; what was done, in words.
std::vector<Str> repair(const Str& run) {
  const Str folder = run + "/checkpoints";
  const RunFolder held = RunFolder::hold(run);
  std::vector<Str> done;
  size_t hidden = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    hidden += entry.path().filename().string().starts_with(".") ? 1 : 0;
  }
  remove_leftovers(folder);
  if (hidden > 0) done.push_back(fmt::format("{} of writers that died put right", plural(int64_t(hidden), "leftover")));
  const auto points_at_whole = [&](const Str& link) {
    const Str target = read_link(folder, link);
    return !target.empty() && verify_checkpoint(folder + "/" + target).empty();
  };
  if (points_at_whole("last")) return done;
  const Str newest = find_checkpoint(run, "last", nullptr, true);
  if (newest.empty()) return done;
  const Str name = fs::path(newest).filename().string();
  point_link(folder, "last", name);
  done.push_back(fmt::format("last is {} now", name));
  return done;
}

Str json_of(const Str& run, const std::vector<Kept>& rows, const Str& last, const Str& best) {
  nlohmann::json list = nlohmann::json::array();
  for (const Kept& row : rows) {
    list.push_back({{"name", row.name}, {"step", row.step}, {"bytes", row.bytes}, {"world", row.world}, {"whole", row.damage.empty()},
                    {"damage", row.damage}, {"weights_only", row.has_weights_only}, {"last", row.name == last}, {"best", row.name == best}});
  }
  return nlohmann::json({{"run", run}, {"checkpoints", list}}).dump() + "\n";
}

Str table_of(const Str& run, const std::vector<Kept>& rows, const Str& last, const Str& best) {
  Str out = fmt::format("{} · {}\n", run, plural(int64_t(rows.size()), "checkpoint"));
  size_t width = 0;
  for (const Kept& row : rows) width = std::max(width, row.name.size());
  for (const Kept& row : rows) {
    Str marks;
    if (row.name == last) marks += "  last";
    if (row.name == best) marks += "  best";
    if (row.has_weights_only) marks += "  weights only";
    if (row.world > 1) marks += fmt::format("  {} processes", row.world);
    out += fmt::format("  {:<{}}  {:>9}  {}{}\n", row.name, width, bytes_text(double(row.bytes)),
                       row.damage.empty() ? "whole" : "damaged: " + row.damage, marks);
  }
  return out;
}

}  // namespace

int run_checkpoints(const Program& program, const CommandLine& line) {
  if (line.words.size() > 1) throw error_at({}, err::unknown_option, fmt::format("for the word {}; the run is {}", line.words[1], line.words[0]));
  const Str run = run_of(program, line, line.words.empty() ? line.get("run") : line.words[0]);
  const Str folder = run + "/checkpoints";
  std::vector<Str> done;
  if (line.has("repair") && fs::is_directory(folder)) done = repair(run);
  std::vector<Kept> rows;
  for (const Str& name : checkpoint_names(folder)) rows.push_back(kept_of(folder, name));
  const Str last = read_link(folder, "last"), best = read_link(folder, "best");
  print_out(line.has("json") ? json_of(run, rows, last, best) : table_of(run, rows, last, best));
  for (const Str& one : done) print_err(fmt::format("repaired: {}\n", one));
  const auto damaged = std::count_if(rows.begin(), rows.end(), [](const Kept& row) { return !row.damage.empty(); });
  return damaged > 0 ? Error(err::checkpoint_damaged.code, "").exit_code() : 0;
}

}  // namespace ltr::cli
