#include "runtime/cli/text_plot.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <sstream>

#include "runtime/cli/terminal.h"

namespace ltr::cli {

TEST_CASE("a plot has its points where they belong, and fits the window") {
  TextPlot plot{{{-2, 5}, {-1, 4}, {0, 1, true}, {1, 5}}, "0.01", "10", short_number};
  const Str text = draw(plot, 30);
  CHECK(text ==
        "5 ┤·                        ·\n"
        "  │\n"
        "  │        ·\n"
        "  │\n"
        "  │\n"
        "  │\n"
        "  │\n"
        "  │\n"
        "  │\n"
        "1 ┤                 ●\n"
        "  └──────────────────────────\n"
        "   0.01                    10\n");
  plot.points.resize(1);
  CHECK(draw(plot, 30).empty());
}

TEST_CASE("a plot of one height, in a window that is too narrow") {
  const TextPlot plot{{{1, 3}, {2, 3}}, "one", "two", short_number};
  std::istringstream lines(draw(plot, 0));
  Str line;
  int count = 0;
  while (std::getline(lines, line)) count++;
  CHECK(count == 12);
}

}  // namespace ltr::cli
