#include "doors/runs/site.h"

#include <charconv>

#include "doors/file.h"
#include "doors/runs/page.h"

namespace ltr::doors {

namespace {

/// More curves than these in one picture tell nobody anything.
constexpr size_t kMostCompared = 32;

HttpResponse json(const nlohmann::json& value) {
  return {200, "application/json", value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

HttpResponse message(int status, const std::string& title, const std::string& text) {
  return {status, "text/html; charset=utf-8", message_page(title, text)};
}

HttpResponse unknown(const std::string& id) { return message(404, "No such run", "There is no run " + id + " here."); }

/// A number of a query; the largest for what is none, which no cursor or version is.
uint64_t number_of(const std::string& text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() ? value : UINT64_MAX;
}

/// As the list has it, which also knows whether its process lives.
Run read_listed(const ListedRun& listed, bool with_pictures) {
  Run run = read_run(listed.folder, with_pictures);
  run.about["status"] = listed.status;
  return run;
}

std::string address_of_news(const std::string& id) { return "/news/" + escape_path(id); }

}  // namespace

HttpResponse Site::run(const std::string& id) const {
  const ListedRun* listed = list_.find(id);
  if (listed == nullptr) return unknown(id);
  try {
    const std::string news = address_of_news(id);
    return {.body = run_page(read_listed(*listed, true), std::span(&news, 1))};
  } catch (const std::exception& error) {  // FormatError, std::system_error: both name the file
    return message(500, id + " is damaged", error.what());
  }
}

HttpResponse Site::comparison(const HttpRequest& request) const {
  std::vector<Run> runs;
  std::vector<std::string> news;
  for (const auto& [name, id] : request.query) {
    if (name != "run") continue;
    const ListedRun* listed = list_.find(id);
    if (listed == nullptr) return unknown(id);
    if (runs.size() == kMostCompared)
      return message(400, "Too many runs", "At most " + std::to_string(kMostCompared) + " runs are compared at once.");
    try {
      runs.push_back(read_listed(*listed, false));
    } catch (const std::exception& error) {
      return message(500, id + " is damaged", error.what());
    }
    runs.back().name = id;
    news.push_back(address_of_news(id));
  }
  if (runs.empty()) return message(400, "No runs", "Choose runs in the list first.");
  return {.body = overlay_page(runs, news)};
}

HttpResponse Site::list_news(const HttpRequest& request) const {
  if (number_of(request.find("version")) == list_.version()) return {204, "text/plain", ""};
  return json({{"version", list_.version()}, {"rows", list_rows(list_)}});
}

HttpResponse Site::news(const std::string& id, const HttpRequest& request) const {
  const ListedRun* listed = list_.find(id);
  if (listed == nullptr) return {404, "text/plain", "the run is gone\n"};
  if (!listed->damage.empty()) return {500, "text/plain; charset=utf-8", listed->damage + "\n"};
  const auto found = news_of(*listed, number_of(request.find("from")), request.find("status"));
  return found ? json(*found) : HttpResponse{204, "text/plain", ""};
}

HttpResponse Site::answer(const HttpRequest& request) {
  constexpr std::string_view kRuns = "/runs/", kNews = "/news/";
  list_.refresh();
  if (request.path == "/") return {.body = list_page(list_)};
  if (request.path == "/list") return list_news(request);
  if (request.path == "/compare") return comparison(request);
  if (request.path == "/favicon.ico") return {204, "text/plain", ""};
  if (request.path.starts_with(kRuns)) return run(request.path.substr(kRuns.size()));
  if (request.path.starts_with(kNews)) return news(request.path.substr(kNews.size()), request);
  return message(404, "No such page", "There is nothing at " + request.path + ".");
}

size_t Site::count() {
  list_.refresh();
  return list_.runs().size();
}

}  // namespace ltr::doors
