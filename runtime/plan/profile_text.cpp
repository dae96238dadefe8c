#include "runtime/plan/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/plan/cpu/kernel.h"
#include "runtime/plan/cpu/machine_peak.h"

namespace ltr::plan {

namespace {

constexpr size_t kMostRows = 24;

struct Row {
  Str place;
  Str what;
  double seconds = 0, products = 0, bytes = 0;  ///< of all runs and threads
};

Str place_of(const Location& location) {
  return location.line > 0 ? fmt::format("{}:{}", location.file, location.line) : Str();
}

/// Rows with equal keys become one; the longest first.
template <class Key>
std::vector<Row> rows_by(const std::vector<CallCost>& costs, double runs, const Key& key_of) {
  std::map<Str, Row> rows;
  for (const CallCost& cost : costs) {
    Row& row = rows[key_of(cost)];
    if (row.place.empty()) row.place = place_of(cost.location);
    row.what = cost.what;
    row.seconds += cost.seconds;
    row.products += cost.products * runs;
    row.bytes += cost.bytes * runs;
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return sorted;
}

Str rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : Str("-");
}

}  // namespace

Str profile_text(const Measured& measured) {
  const auto runs = double(measured.runs);
  // Of threads that work at once.
  const auto wall = [&](double seconds) { return seconds / measured.threads; };
  const double whole = measured.seconds;
  double planned = 0;
  for (const CallCost& cost : measured.costs) planned += wall(cost.seconds);
  const auto line = [&](double seconds, const Str& products, const Str& bytes, const Str& place, const Str& what) {
    return fmt::format("{:>9.4f} {:>6.1f} {:>9} {:>7}  {:<28} {}\n", 1e3 * seconds / runs, 100 * seconds / whole,
                       products, bytes, place, what);
  };
  const auto table = [&](const std::vector<Row>& rows, bool says_what) {
    Str text;
    double rest = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      if (i >= kMostRows) {
        rest += wall(row.seconds);
        continue;
      }
      const bool is_wait = row.place.empty();
      text += line(wall(row.seconds), is_wait ? "-" : rate(2 * row.products, wall(row.seconds)),
                   is_wait ? "-" : rate(row.bytes, wall(row.seconds)), row.place, is_wait || says_what ? row.what : "");
    }
    if (rest > 0) text += line(rest, "-", "-", "", fmt::format("{} more", rows.size() - kMostRows));
    return text;
  };
  const Str head = fmt::format("{:>9} {:>6} {:>9} {:>7}  {:<28} {}\n", "ms", "%", "GFLOP/s", "GB/s", "line", "");
  Str text = fmt::format("{} runs, {:.4f} ms each, {} thread{}\n", measured.runs, 1e3 * whole / runs, measured.threads,
                         measured.threads == 1 ? "" : "s");
  text += head;
  text += table(rows_by(measured.costs, runs, [](const CallCost& cost) { return place_of(cost.location); }), false);
  text += line(std::max(0.0, whole - planned), "-", "-", "", "updates, logs, and what lies between");
  text += "\n" + head;
  text += table(
      rows_by(measured.costs, runs, [](const CallCost& cost) { return place_of(cost.location) + "\n" + cost.what; }),
      true);
  const MachinePeak peak = measure_peak(*measured.products);
  return text + fmt::format("a thread of this machine does {:.0f} GFLOP/s in products{}, and moves {:.1f} GB/s\n",
                            2 * peak.products / 1e9, type_of(*measured.products), peak.bytes / 1e9);
}

}  // namespace ltr::plan
