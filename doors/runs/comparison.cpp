#include "doors/runs/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "doors/number.h"

namespace ltr::doors {

namespace {

std::string best_text(const Run& run) {
  const nlohmann::json best = run.about.value("best", nlohmann::json());
  if (!best.is_object() || !best.contains("metric")) return "";
  return setting_text(best["metric"]) + " " +
         (best["value"].is_number() ? rounded(best["value"].get<double>()) : setting_text(best["value"]));
}

int64_t last_step(const Run& run) {
  int64_t last = 0;
  for (const Series& one : run.series) last = std::max(last, one.points.back().step);
  for (const RunEvent& one : run.events) last = std::max(last, one.step);
  return last;
}

/// Names in the order in which people count: `recall/2` stands in front of `recall/10`.
struct Counted {
  static size_t digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }

  bool operator()(std::string_view one, std::string_view other) const {
    while (!one.empty() && !other.empty()) {
      const size_t left = digits(one), right = digits(other);
      if (left > 0 && right > 0) {
        const auto number = [](std::string_view text) {
          return text.substr(std::min(text.find_first_not_of('0'), text.size() - 1));
        };
        const std::string_view a = number(one.substr(0, left)), b = number(other.substr(0, right));
        if (a.size() != b.size()) return a.size() < b.size();
        if (a != b) return a < b;
        if (left != right) return left < right;
        one.remove_prefix(left);
        other.remove_prefix(right);
      } else {
        if (one.front() != other.front()) return one.front() < other.front();
        one.remove_prefix(1);
        other.remove_prefix(1);
      }
    }
    return one.size() < other.size();
  }
};

template <class Cell>
Row row_of(std::string name, std::span<const Run> runs, const Cell& cell) {
  Row row{std::move(name), {}};
  for (const Run& run : runs) row.cells.push_back(cell(run));
  return row;
}

bool is_alike(const Row& row) {
  return std::ranges::all_of(row.cells, [&](const std::string& cell) { return cell == row.cells.front(); });
}

}  // namespace

Result result_of(const Series& series) {
  Result result{std::nan(""), std::nan(""), std::nan("")};
  for (const Point& point : series.points) {
    result.last = point.value;
    if (!std::isfinite(point.value)) continue;
    result.least = std::fmin(result.least, point.value);
    result.greatest = std::fmax(result.greatest, point.value);
  }
  return result;
}

std::string setting_text(const nlohmann::json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string rounded(double value) {
  if (!std::isfinite(value)) return shortest(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string duration_text(double seconds) {
  char text[48];
  const auto whole = int64_t(seconds);
  if (seconds < 60)
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%d min %02d s", int(whole / 60), int(whole % 60));
  else
    std::snprintf(text, sizeof text, "%lld h %02d min", static_cast<long long>(whole / 3600), int(whole / 60 % 60));
  return text;
}

std::optional<double> seconds_of(const Run& run) {
  if (run.events.empty()) return std::nullopt;
  // Each process that went on with the run counts from its own begin: what lies between them is a pause.
  std::map<double, double> spans;  // begin to end
  const auto take = [&](double time) {
    const auto next = spans.upper_bound(time);
    if (next == spans.begin()) return;
    double& end = std::prev(next)->second;
    end = std::max(end, time);
  };
  for (const RunEvent& one : run.events) {
    if (one.begins() || spans.empty()) spans.emplace(one.time, one.time);
  }
  for (const RunEvent& one : run.events) take(one.time);
  for (const Series& one : run.series) {
    for (const Point& point : one.points) take(point.time);
  }
  double seconds = 0;
  for (const auto& [begin, end] : spans) seconds += end - begin;
  return seconds;
}

Comparison compare_runs(std::span<const Run> runs) {
  Comparison out;
  out.about.push_back(row_of("status", runs, [](const Run& run) { return run.about.value("status", ""); }));
  out.about.push_back(row_of("steps", runs, [](const Run& run) { return std::to_string(last_step(run)); }));
  out.about.push_back(row_of("time", runs, [](const Run& run) {
    const auto seconds = seconds_of(run);
    return seconds ? duration_text(*seconds) : "";
  }));
  out.about.push_back(row_of("best", runs, best_text));

  std::set<std::string, Counted> settings;
  std::set<std::string, Counted> series;
  for (const Run& run : runs) {
    for (const auto& [path, entry] : run.config.items()) settings.insert(path);
    for (const Series& one : run.series) series.insert(one.name);
  }
  for (const std::string& path : settings) {
    Row row = row_of(path, runs, [&](const Run& run) {
      const auto entry = run.config.find(path);
      return entry == run.config.end() || !entry->is_object() ? ""
                                                              : setting_text(entry->value("value", nlohmann::json()));
    });
    if (!is_alike(row)) out.settings.push_back(std::move(row));
  }
  for (const std::string& name : series) {
    out.results.push_back(row_of(name, runs, [&](const Run& run) {
      const Series* one = run.find(name);
      return one == nullptr ? "" : rounded(result_of(*one).last);
    }));
  }
  return out;
}

}  // namespace ltr::doors
