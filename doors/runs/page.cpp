#include "doors/runs/page.h"

#include <algorithm>
#include <cmath>

#include "doors/html.h"
#include "doors/number.h"
#include "doors/runs/comparison.h"
#include "doors/runs/page_parts.h"

namespace ltr::doors {

namespace {

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

/// Series as the scripts read them: points of step, epoch, seconds behind `start` and value.
nlohmann::json series_json(std::span<const Series> all, double start) {
  nlohmann::json out = nlohmann::json::array();
  for (const Series& one : all) {
    nlohmann::json points = nlohmann::json::array();
    for (const Point& point : thinned(one.points, kMostPoints)) {
      const double seconds = std::round((point.time - start) * 1000) / 1000;
      nlohmann::json value = std::isfinite(point.value) ? nlohmann::json(point.value) : nlohmann::json();
      points.push_back({point.step, point.epoch, start == 0 ? 0 : seconds, std::move(value)});
    }
    out.push_back({{"name", one.name}, {"count", one.points.size()}, {"points", std::move(points)}});
  }
  return out;
}

std::string curves_of(std::span<const Run> runs, std::span<const std::string> news) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const double start = runs[i].events.empty() ? 0 : runs[i].events.front().time;
    nlohmann::json run = {{"name", runs[i].name}, {"series", series_json(runs[i].series, start)}};
    if (!news.empty()) {
      run["news"] = news[i];
      run["cursor"] = runs[i].journal_end;
      run["status"] = runs[i].about.value("status", "");
    }
    list.push_back(std::move(run));
  }
  std::string text =
      nlohmann::json({{"runs", std::move(list)}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Nothing in it may end the element that it stands in, or begin another.
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) text.replace(at, 1, "\\u003c");
  return text;
}

constexpr std::string_view kControls =
    "<div class=\"controls\"><label>over <select id=\"axis\"><option>step<option>epoch<option value=\"time\">seconds"
    "</select></label><label><input type=\"checkbox\" id=\"log\"> logarithmic</label>"
    "<label>smooth <input type=\"range\" id=\"smooth\" min=\"0\" max=\"0.99\" step=\"0.01\" value=\"0\"></label></div>"
    "<div class=\"charts\" id=\"charts\"></div>\n";

/// `head` and `rest` are read again where they change, the curves between them grow.
std::string page(const std::string& title, const std::string& head, const std::string& rest, std::span<const Run> runs,
                 std::span<const std::string> news) {
  std::string body(news.empty() ? "" : kWayBack);
  body += "<div id=\"head\">" + head + "</div>\n";
  const bool has_curves = std::ranges::any_of(runs, [](const Run& run) { return !run.series.empty(); });
  if (has_curves || !news.empty()) body += "<h2>Curves</h2>\n" + std::string(kControls);
  body += "<div id=\"rest\">" + rest + "</div>\n<script type=\"application/json\" id=\"data\">" +
          curves_of(runs, news) + "</script>\n" + script(page_script);
  if (!news.empty()) body += script(follow_script);
  return framed(title, body);
}

std::string state_of(const Run& run) {
  const std::string status = run.about.value("status", "");
  return "<span class=\"state " + escape_html(status) + "\">" + escape_html(status) + "</span>";
}

/// A number that grows with the curve of `series`: its last value, say.
std::string followed_cell(size_t run, const std::string& series, const char* what, const std::string& text) {
  return "<td class=\"number\" data-run=\"" + std::to_string(run) + "\" data-series=\"" + escape_html(series) +
         "\" data-what=\"" + what + "\">" + escape_html(text) + "</td>";
}

std::string results_of(const Run& run) {
  if (run.series.empty()) return "";
  std::string out =
      "<h2>Results</h2>\n<table><tr><th>name<th class=\"number\">last<th class=\"number\">least"
      "<th class=\"number\">greatest<th class=\"number\">values</tr>\n";
  for (const Series& series : run.series) {
    const Result result = result_of(series);
    out += "<tr>" + cell(series.name) + followed_cell(0, series.name, "last", shortest(result.last)) +
           followed_cell(0, series.name, "least", shortest(result.least)) +
           followed_cell(0, series.name, "greatest", shortest(result.greatest)) +
           followed_cell(0, series.name, "count", std::to_string(series.points.size())) + "</tr>\n";
  }
  return out + "</table>\n";
}

/// Those that somebody set first, then those that are as they were.
std::string settings_of(const Run& run) {
  std::string set, defaults;
  for (const auto& [path, entry] : run.config.items()) {
    if (!entry.is_object()) continue;
    const std::string from = setting_text(entry.value("from", nlohmann::json("")));
    std::string& into = from == "default" ? defaults : set;
    into += "<tr>" + cell(path) + cell(setting_text(entry.value("value", nlohmann::json()))) + cell(from) +
            cell(setting_text(entry.value("at", nlohmann::json("")))) + "</tr>\n";
  }
  const std::string head = "<table><tr><th>setting<th>value<th>from<th>at</tr>\n";
  std::string out = "<h2>Settings</h2>\n" + head + set + "</table>\n";
  if (!defaults.empty()) out += "<details><summary>defaults</summary>" + head + defaults + "</table></details>\n";
  return out;
}

std::string about_of(const Run& run) {
  std::string out = "<h2>Environment</h2>\n<table>\n";
  for (const char* name :
       {"started", "ended", "seed", "world", "hosts", "topology", "toolchain", "git", "data", "command", "parent"}) {
    const auto value = run.about.find(name);
    if (value != run.about.end() && !value->is_null())
      out += "<tr><th>" + std::string(name) + "</th>" + cell(setting_text(*value)) + "</tr>\n";
  }
  return out + "</table>\n";
}

std::string pictures_of(const Run& run) {
  if (run.pictures.empty()) return "";
  std::string out = "<h2>Images</h2>\n<div class=\"pictures\">\n";
  for (const Picture& one : run.pictures) {
    out += "<figure><img alt=\"" + escape_html(one.name) + "\" src=\"data:image/png;base64," + base64(one.png) +
           "\"><figcaption>" + escape_html(one.name) + " <small>step " + std::to_string(one.step) +
           "</small></figcaption></figure>\n";
  }
  return out + "</div>\n";
}

/// Each row by its sum: white is nothing, blue is all.
std::string matrices_of(const Run& run) {
  std::string out;
  for (const LoggedMatrix& one : run.matrices) {
    out += (out.empty() ? "<h2>Matrices</h2>\n<div class=\"pictures\">\n" : "") +
           std::string("<figure><table class=\"matrix\">");
    for (size_t i = 0; i < one.rows.size(); ++i) {
      double sum = 0;
      for (const double value : one.rows[i]) sum += std::abs(value);
      out += "<tr><th>" + std::to_string(i) + "</th>";
      for (const double value : one.rows[i]) {
        const int share = sum > 0 ? int(std::lround(100 * std::abs(value) / sum)) : 0;
        out += "<td class=\"number\" style=\"background:rgb(31 119 180/" + std::to_string(share) + "%)\">" +
               escape_html(rounded(value)) + "</td>";
      }
      out += "</tr>\n";
    }
    out += "</table><figcaption>" + escape_html(one.name) + " <small>step " + std::to_string(one.step) +
           "</small></figcaption></figure>\n";
  }
  return out.empty() ? "" : out + "</div>\n";
}

std::string profile_of(const Run& run) {
  return run.profile.empty() ? "" : "<h2>Profile</h2>\n<pre>" + escape_html(run.profile) + "</pre>\n";
}

/// Of each name the newest is open.
std::string texts_of(const Run& run) {
  if (run.texts.empty()) return "";
  std::string out = "<h2>Texts</h2>\n";
  for (size_t i = 0; i < run.texts.size(); ++i) {
    const LoggedText& one = run.texts[i];
    const bool is_newest = i + 1 == run.texts.size() || run.texts[i + 1].name != one.name;
    out += std::string(is_newest ? "<details open>" : "<details>") + "<summary>" + escape_html(one.name) +
           " <small>step " + std::to_string(one.step) + "</small></summary><pre>" + escape_html(one.text) +
           "</pre></details>\n";
  }
  return out;
}

std::string events_of(const Run& run) {
  if (run.events.empty()) return "";
  const double start = run.events.front().time;
  std::string out =
      "<h2>Events</h2>\n<details><summary>" + std::to_string(run.events.size()) +
      " events</summary><table><tr><th class=\"number\">step<th class=\"number\">after<th>event<th></tr>\n";
  for (const RunEvent& one : run.events) {
    out += "<tr>" + cell(std::to_string(one.step), true) + cell(duration_text(one.time - start), true) +
           cell(one.name) + cell(one.text) + "</tr>\n";
  }
  return out + "</table></details>\n";
}

std::string summary_of(const Run& run) {
  return run.summary.empty() ? "" : "<h2>Model</h2>\n<pre>" + escape_html(run.summary) + "</pre>\n";
}

std::string rows_of(const std::string& title, std::span<const Run> runs, const std::vector<Row>& rows,
                    bool are_results) {
  if (rows.empty()) return "";
  std::string out = "<h2>" + title + "</h2>\n<table><tr><th></th>";
  for (const Run& run : runs) out += (are_results ? "<th class=\"number\">" : "<th>") + escape_html(run.name) + "</th>";
  out += "</tr>\n";
  for (const Row& row : rows) {
    out += "<tr>" + cell(row.name);
    for (size_t i = 0; i < row.cells.size(); ++i)
      out += are_results ? followed_cell(i, row.name, "last", row.cells[i]) : cell(row.cells[i]);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::vector<Point> thinned(std::span<const Point> points, size_t most) {
  if (points.size() <= most) return {points.begin(), points.end()};
  std::vector<Point> out = {points.front()};
  const size_t pieces = most / 2 - 1;
  const auto inner = points.subspan(1, points.size() - 2);
  for (size_t i = 0; i < pieces; ++i) {
    const size_t begin = inner.size() * i / pieces, end = inner.size() * (i + 1) / pieces;
    // Of what is no number none is less than another.
    const Point *least = nullptr, *greatest = nullptr;
    for (const Point& point : inner.subspan(begin, end - begin)) {
      if (std::isnan(point.value)) continue;
      if (least == nullptr || point.value < least->value) least = &point;
      if (greatest == nullptr || point.value > greatest->value) greatest = &point;
    }
    if (least == nullptr) least = greatest = &inner[begin];
    out.push_back(*std::min(least, greatest));
    if (least != greatest) out.push_back(*std::max(least, greatest));
  }
  out.push_back(points.back());
  return out;
}

std::string run_page(const Run& run, std::span<const std::string> news) {
  std::string head =
      "<h1>" + escape_html(run.name) + " " + state_of(run) + "</h1>\n<p class=\"soft\">" + escape_html(run.folder);
  const std::string reason = setting_text(run.about.value("reason", nlohmann::json("")));
  if (!reason.empty() && reason != run.about.value("status", "")) head += " · " + escape_html(reason);
  if (const auto seconds = seconds_of(run)) head += " · " + duration_text(*seconds);
  const std::string rest = results_of(run) + matrices_of(run) + pictures_of(run) + texts_of(run) + settings_of(run) +
                           summary_of(run) + profile_of(run) + events_of(run) + about_of(run);
  return page(run.name, head + "</p>\n", rest, std::span(&run, 1), news);
}

std::string overlay_page(std::span<const Run> runs, std::span<const std::string> news) {
  const Comparison found = compare_runs(runs);
  std::string title;
  for (const Run& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  const std::string head = "<h1>" + escape_html(title) + "</h1>\n" + rows_of("Runs", runs, found.about, false) +
                           rows_of("Settings that differ", runs, found.settings, false);
  return page(title, head, rows_of("Last values", runs, found.results, true), runs, news);
}

std::optional<nlohmann::json> news_of(const ListedRun& run, uint64_t from, const std::string& status) {
  if (from == run.journal_end && status == run.status) return std::nullopt;
  if (status != run.status || from > run.journal_end) return {{{"stale", true}}};
  const JournalPart part = read_journal(run.folder + "/log.jsonl", from);
  if (!part.events.empty() || !part.texts.empty() || !part.matrices.empty()) return {{{"stale", true}}};
  return {{{"stale", false}, {"cursor", part.end}, {"series", series_json(part.series, run.begin)}}};
}

}  // namespace ltr::doors
