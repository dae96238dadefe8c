// `checkpoints`: what a run has to go on from, verified; `--repair` puts its links and leftovers right.

#include <algorithm>
#include <filesystem>
#include <iterator>

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

/// Nothing if it is gone: a run that goes on removes checkpoints while they are looked at.
Option<Kept> kept_of(const Str& folder, const Str& name) {
  const Str path = folder + "/" + name;
  std::error_code failed;
  try {
    Kept row{name, verify_checkpoint(path)};
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) row.bytes += int64_t(entry.file_size());
    }
    if (row.damage.empty()) {
      const nlohmann::json manifest = read_manifest(path);
      row.step = manifest.value("step", int64_t(-1));
      row.world = manifest.value("world", int64_t(1));
      row.has_weights_only = manifest.value("weights_only", false);
    }
    if (fs::exists(path, failed)) return row;
  } catch (const std::exception&) {
    if (fs::exists(path, failed)) throw;
  }
  return std::nullopt;
}

/// Those of a run, oldest first, each verified once.
std::vector<Kept> kept_in(const Str& folder) {
  std::vector<Kept> rows;
  for (const Str& name : checkpoint_names(folder)) {
    if (Option<Kept> row = kept_of(folder, name)) rows.push_back(std::move(*row));
  }
  return rows;
}

/// What writers that died left goes; what was done, in words.
std::vector<Str> clear(const Str& folder) {
  int64_t hidden = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    hidden += entry.path().filename().string().starts_with(".") ? 1 : 0;
  }
  remove_leftovers(folder);
  if (hidden == 0) return {};
  return {fmt::format("{} of writers that died put right", plural(hidden, "leftover"))};
}

/// `last` shows the newest checkpoint that is whole; what was done, in words.
std::vector<Str> mend_last(const Str& folder, const std::vector<Kept>& rows) {
  const Str last = read_link(folder, "last");
  if (std::ranges::any_of(rows, [&](const Kept& row) { return row.name == last && row.damage.empty(); })) return {};
  const auto may_be_last = [](const Kept& row) { return row.damage.empty() && !row.has_weights_only; };
  const auto newest = std::find_if(rows.rbegin(), rows.rend(), may_be_last);
  if (newest == rows.rend()) return {};
  point_link(folder, "last", newest->name);
  return {fmt::format("last is {} now", newest->name)};
}

Str json_of(const Str& run, const std::vector<Kept>& rows, const Str& last, const Str& best) {
  nlohmann::json list = nlohmann::json::array();
  for (const Kept& row : rows) {
    list.push_back({{"name", row.name},
                    {"step", row.step},
                    {"bytes", row.bytes},
                    {"world", row.world},
                    {"whole", row.damage.empty()},
                    {"damage", row.damage},
                    {"weights_only", row.has_weights_only},
                    {"last", row.name == last},
                    {"best", row.name == best}});
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
  const Str run = named_run(program, line);
  const Str folder = run + "/checkpoints";
  const bool is_repair = line.has("repair") && fs::is_directory(folder);
  Option<RunFolder> held;
  if (is_repair) held.emplace(RunFolder::hold(run));
  std::vector<Str> done = is_repair ? clear(folder) : std::vector<Str>();
  const std::vector<Kept> rows = kept_in(folder);
  if (is_repair) std::ranges::move(mend_last(folder, rows), std::back_inserter(done));
  const Str last = read_link(folder, "last"), best = read_link(folder, "best");
  print_out(line.has("json") ? json_of(run, rows, last, best) : table_of(run, rows, last, best));
  for (const Str& one : done) print_err(fmt::format("repaired: {}\n", one));
  const auto damaged = std::count_if(rows.begin(), rows.end(), [](const Kept& row) { return !row.damage.empty(); });
  return damaged > 0 ? Error(err::checkpoint_damaged.code, "").exit_code() : 0;
}

}  // namespace ltr::cli
