#pragma once

// Pages about runs: one self-contained HTML file each, which opens from the disk and asks no server for anything.

#include <span>
#include <string>
#include <string_view>

#include "doors/runs/run.h"

namespace ltr::doors {

/// Curves, results, settings, images and events of one run.
std::string run_page(const Run& run);
/// The curves of several runs in one picture each, their results and the settings in which they differ.
std::string overlay_page(std::span<const Run> runs);

/// A curve has at most so many points in a page: the least and the greatest value of each of half as many pieces.
constexpr size_t kMostPoints = 2000;
/// `points`, thinned to `most`. The first and the last stay, and no peak is lost.
std::vector<Point> thinned(std::span<const Point> points, size_t most);

/// Look and behaviour of the pages (page_assets.cpp).
extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace ltr::doors
