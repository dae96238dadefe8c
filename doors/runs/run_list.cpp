#include "doors/runs/run_list.h"

#include <algorithm>
#include <cmath>

#include "doors/file.h"
#include "doors/json.h"

namespace fs = std::filesystem;

namespace ltr::doors {

namespace {

std::string text_of(const nlohmann::json& about, const char* name) {
  const auto found = about.find(name);
  return found != about.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_small_best(const std::string& name) {
  return name.ends_with("loss") || name.ends_with("error") || name.ends_with("perplexity");
}

/// A loss of the rounds, else one of training, else what there is.
std::string main_series(const std::map<std::string, Result>& results) {
  for (const char* role : {"val/", "train/"}) {
    const std::string loss = std::string(role) + "loss";
    if (results.contains(loss)) return loss;
    for (const auto& [name, result] : results) {
      if (name.starts_with(role)) return name;
    }
  }
  return results.empty() ? "" : results.begin()->first;
}

}  // namespace

RunList::RunList(fs::path folder) : folder_(std::move(folder)) {}

RunList::Stamp RunList::stamp_of(const std::string& file) {
  std::error_code failed;
  Stamp stamp{fs::last_write_time(file, failed), 0};
  const uintmax_t bytes = fs::file_size(file, failed);
  if (!failed) stamp.bytes = bytes;
  return stamp;
}

void RunList::read_about(Followed& run) {
  const nlohmann::json about = read_json(run.listed.folder + "/run.json");
  if (!about.is_object()) throw FormatError(run.listed.folder + "/run.json", 0, "no JSON object");
  run.listed.experiment = text_of(about, "experiment");
  run.written_status = text_of(about, "status");
  run.listed.started = text_of(about, "started");
  run.best = about.value("best", nlohmann::json());
}

void RunList::read_news(Followed& run) {
  ListedRun& listed = run.listed;
  const std::string path = listed.folder + "/log.jsonl";
  if (!has_regular_file(path)) return;
  // What a process that goes on records anew takes the place of what was counted: then all is counted again, as where the file is another one.
  JournalPart part;
  const bool is_shorter = run.journal.bytes < listed.journal_end;
  if (!is_shorter) part = read_journal(path, listed.journal_end);
  const bool is_restarted = std::ranges::any_of(part.events, [](const RunEvent& one) { return one.begins(); });
  if (listed.journal_end != 0 && (is_shorter || is_restarted)) {
    run.results.clear();
    listed.step = listed.epoch = 0;
    listed.begin = listed.end = 0;
    part = read_journal(path, 0);
  }
  listed.journal_end = part.end;
  for (const RunEvent& one : part.events) {
    if (listed.begin == 0) listed.begin = one.time;
    listed.end = std::max(listed.end, one.time);
    listed.step = std::max(listed.step, one.step);
  }
  for (const Series& one : part.series) {
    const Result news = result_of(one);
    const auto [known, is_new] = run.results.emplace(one.name, news);
    if (!is_new) {
      known->second = {news.last, std::fmin(known->second.least, news.least),
                       std::fmax(known->second.greatest, news.greatest)};
    }
    listed.end = std::max(listed.end, one.points.back().time);
    listed.step = std::max(listed.step, one.points.back().step);
    listed.epoch = std::max(listed.epoch, one.points.back().epoch);
  }
}

void RunList::choose_metric(Followed& run) {
  ListedRun& listed = run.listed;
  const bool has_best = run.best.is_object() && run.best.contains("metric") && run.best["metric"].is_string();
  listed.metric = has_best ? run.best["metric"].get<std::string>() : main_series(run.results);
  listed.best = std::nullopt;
  listed.last = std::nullopt;
  const auto found = run.results.find(listed.metric);
  if (found != run.results.end()) listed.last = found->second.last;
  if (has_best && run.best.contains("value") && run.best["value"].is_number())
    listed.best = run.best["value"].get<double>();
  else if (found != run.results.end() && is_small_best(listed.metric))
    listed.best = found->second.least;
}

void RunList::follow(Followed& run, bool is_new) {
  ListedRun& listed = run.listed;
  const Stamp about = stamp_of(listed.folder + "/run.json");
  const Stamp journal = stamp_of(listed.folder + "/log.jsonl");
  const bool is_other = is_new || about != run.about || journal != run.journal;
  const std::string before = listed.status;
  run.about = about;
  run.journal = journal;
  if (is_other) {
    ++version_;
    try {
      // What was damaged is read anew, from its begin.
      if (!listed.damage.empty()) {
        ListedRun anew;
        anew.id = listed.id;
        anew.folder = listed.folder;
        run.listed = std::move(anew);
        run.results.clear();
      }
      read_about(run);
      read_news(run);
      choose_metric(run);
    } catch (const std::exception& error) {  // FormatError, std::system_error: both name the file
      listed.damage = error.what();
    }
  }
  const bool is_lost = run.written_status == "running" && is_abandoned(listed.folder);
  listed.status = !listed.damage.empty() ? "damaged" : is_lost ? "lost" : run.written_status;
  if (listed.status != before) ++version_;
}

void RunList::look_into(const fs::path& folder, int depth) {
  std::error_code failed;
  if (fs::is_regular_file(fs::symlink_status(folder / "run.json", failed))) {
    const std::string id =
        depth == 0 ? folder.filename().string() : folder.lexically_relative(folder_).generic_string();
    const auto [place, is_new] = runs_.try_emplace(id);
    Followed& run = place->second;
    if (is_new) {
      run.listed.id = id;
      run.listed.folder = folder.string();
    }
    run.is_there = true;
    return follow(run, is_new);
  }
  if (depth == kDeepest) return;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    const bool is_folder = entry->symlink_status(ignored).type() == fs::file_type::directory;
    if (is_folder && !entry->path().filename().string().starts_with('.')) look_into(entry->path(), depth + 1);
  }
}

void RunList::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (version_ != 0 && now - looked_ < kPause) return;
  version_ += version_ == 0 ? 1 : 0;
  for (auto& [id, run] : runs_) run.is_there = false;
  look_into(folder_, 0);
  version_ += std::erase_if(runs_, [](const auto& entry) { return !entry.second.is_there; });
  looked_ = std::chrono::steady_clock::now();
}

std::vector<const ListedRun*> RunList::runs() const {
  std::vector<const ListedRun*> out;
  for (const auto& [id, run] : runs_) out.push_back(&run.listed);
  // Of the same second the later number, and what is damaged last.
  std::ranges::stable_sort(out, [](const ListedRun* a, const ListedRun* b) {
    return a->started != b->started ? a->started > b->started : a->id > b->id;
  });
  return out;
}

const ListedRun* RunList::find(const std::string& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second.listed;
}

}  // namespace ltr::doors
