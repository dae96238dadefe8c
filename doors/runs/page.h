#pragma once

// Pages about runs: one self-contained HTML file each, which opens from the disk and asks no server for anything. Where a
// server gives it, it says where there is news of its runs, and follows them.

#include <span>
#include <string>
#include <string_view>

#include "doors/runs/run.h"
#include "doors/runs/run_list.h"

namespace ltr::doors {

/// Curves, results, matrices, images, texts, settings, profile and events of one run.
std::string run_page(const Run& run, std::span<const std::string> news = {});
/// The curves of several runs in one picture each, their results and the settings in which they differ.
std::string overlay_page(std::span<const Run> runs, std::span<const std::string> news = {});
/// What the address of news answers: the points behind byte `from` of the journal, or that the page is to be read again, since
/// more than points is new or `status` is not what the page says. Nothing if there is no news.
std::optional<nlohmann::json> news_of(const ListedRun& run, uint64_t from, const std::string& status);

/// The runs of a list, of which some are chosen for a comparison.
std::string list_page(const RunList& list);
/// The lines of its table.
std::string list_rows(const RunList& list);
/// A page that says `text`, with the way back to the list.
std::string message_page(const std::string& title, const std::string& text);

/// A curve has at most so many points in a page: the least and the greatest value of each of half as many pieces.
constexpr size_t kMostPoints = 2000;
/// `points`, thinned to `most`. The first and the last stay, and no peak is lost.
std::vector<Point> thinned(std::span<const Point> points, size_t most);

/// Look and behaviour of the pages (page_assets.cpp).
extern const std::string_view page_style;
extern const std::string_view page_script;
extern const std::string_view follow_script;
extern const std::string_view list_script;

}  // namespace ltr::doors
