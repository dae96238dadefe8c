#include "runtime/cli/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ltr::cli {

namespace {

constexpr size_t kPlotRows = 10;
constexpr size_t kLeastColumns = 8;

/// The cell, of `count`, of what lies at `at` between `low` and `high`.
size_t cell_of(double at, double low, double high, size_t count) {
  if (high <= low) return 0;
  return size_t(std::lround((at - low) / (high - low) * double(count - 1)));
}

}  // namespace

Str draw(const TextPlot& plot, size_t width) {
  if (plot.points.size() < 2) return "";
  const auto [left, right] = std::ranges::minmax(plot.points, {}, &TextPlot::Point::x);
  const auto [low, high] = std::ranges::minmax(plot.points, {}, &TextPlot::Point::y);
  const Str top = plot.name_of(high.y), bottom = plot.name_of(low.y);
  const size_t margin = std::max(top.size(), bottom.size()) + 2;
  const size_t columns = std::max(width, margin + kLeastColumns + 1) - margin - 1;
  std::vector<std::vector<const char*>> cells(kPlotRows, std::vector<const char*>(columns, " "));
  for (const bool is_marked : {false, true}) {
    for (const TextPlot::Point& point : plot.points) {
      if (point.is_marked != is_marked) continue;
      const size_t row = kPlotRows - 1 - cell_of(point.y, low.y, high.y, kPlotRows);
      cells[row][cell_of(point.x, left.x, right.x, columns)] = is_marked ? "●" : "·";
    }
  }
  Str out;
  for (size_t row = 0; row < kPlotRows; row++) {
    const bool is_named = row == 0 || row + 1 == kPlotRows;
    Str line;
    for (const char* cell : cells[row]) line += cell;
    line.resize(line.find_last_not_of(' ') + 1);
    out += fmt::format("{:>{}} {}{}\n",
                       row == 0   ? top
                       : is_named ? bottom
                                  : Str(),
                       margin - 2, is_named ? "┤" : "│", line);
  }
  out += fmt::format("{:>{}}└", "", margin - 1);
  for (size_t column = 0; column < columns; column++) out += "─";
  const size_t gap =
      columns > plot.first.size() + plot.last.size() ? columns - plot.first.size() - plot.last.size() : 1;
  return out + fmt::format("\n{:>{}}{}{:>{}}{}\n", "", margin, plot.first, "", gap, plot.last);
}

}  // namespace ltr::cli
