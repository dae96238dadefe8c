#pragma once

// What several runs have in common, and in what they differ.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doors/runs/run.h"

namespace ltr::doors {

/// What a series came to.
struct Result {
  double last = 0;
  double least = 0;  ///< of the finite values; nan if there is none
  double greatest = 0;
};
Result result_of(const Series& series);

/// A line of the comparison: one cell for each run, "" where it has none.
struct Row {
  std::string name;
  std::vector<std::string> cells;
};

struct Comparison {
  std::vector<Row> about;     ///< status, steps, time, best
  std::vector<Row> settings;  ///< those that are not the same in all runs
  std::vector<Row> results;   ///< the last value of each series
};
Comparison compare_runs(std::span<const Run> runs);

/// A value of config.json or run.json as people write it: a text without its quotes.
std::string setting_text(const nlohmann::json& value);
/// Six digits: more are noise to compare by.
std::string rounded(double value);
/// `1 h 03 min`, `2 min 05 s`, `12.3 s`.
std::string duration_text(double seconds);
/// From the first event of a run to its last; nothing without events.
std::optional<double> seconds_of(const Run& run);

}  // namespace ltr::doors
