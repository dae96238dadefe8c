#pragma once

// What an experiment records, and which of it a callback or a schedule watches.

#include <map>

#include "dsl/check/typed.h"

namespace ltr::check {

struct Logged {
  std::string better;             ///< what `mode = auto` reads
  std::string named;              ///< what the name alone tells, for contradictions
  bool is_error = false;          ///< what is logged has a mistake of its own
  bool is_on_step = false;        ///< recorded on step alone
  bool is_each = false;           ///< a metric of several values, each a series: `val.acc[0]`
  std::optional<int64_t> length;  ///< how many, where that is known
  std::string absent;             ///< why it has no value while training
  Span span;
};
using SeriesOf = std::map<std::string, Logged>;

/// Whether a "max" or "min" of it is better, as its metric or its name says; "" where neither does.
std::string better_of(const LogEntry& log);
/// All series of an experiment: what its model and callbacks log, and what is recorded unasked.
SeriesOf logged_series(const Program& program, const Experiment& experiment);

/// `val.acc` of `val.acc[3]`, and the 3; nothing behind a name without an index.
std::pair<std::string, std::optional<int64_t>> without_index(const std::string& series);
/// What is recorded under `name`, null if nothing is; not whether it has an index that is there.
const Logged* find_logged(const SeriesOf& series, const std::string& name);

/// Whether `name` is a learning rate, which is recorded unasked.
inline bool is_rate(const std::string& name) { return name.starts_with("lr."); }

/// Whether the callback of this name stands in the experiment.
bool is_listed(const std::string& callback, const Experiment& experiment);

/// A series that a call watches, and where it says so.
struct Watched {
  std::string series;
  Span span;
};
std::optional<Watched> watched_series(const node::Call& call, const Program& program);
/// Which argument of a call is its `mode`, a word.
std::optional<size_t> mode_argument(const node::Call& call, const Program& program);

}  // namespace ltr::check
