#include "runtime/train/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/number.h"

namespace ltr {

Profile*& Profile::here() {
  static thread_local Profile* profile = nullptr;
  return profile;
}

Profile::~Profile() {
  if (here() == this) here() = nullptr;
}

void Profile::start() {
  here() = this;
  began_ = Clock::now();
}

void Profile::begin(std::string_view part, bool is_whole) {
  const bool is_inside = !open_.empty() && open_.back().is_inside_whole();
  auto row = rows_.find(part);
  const auto is_same = [&](const Open& one) { return one.is_whole && one.part == part; };
  // What is counted whole has its row wherever it runs: a round plans the step that it evaluates with.
  if (is_inside && (!is_whole || std::ranges::any_of(open_, is_same))) {
    open_.push_back({.is_hidden = true});
    return;
  }
  if (row == rows_.end()) row = rows_.emplace(Str(part), Row()).first;
  open_.push_back({&row->second, row->first, Clock::now(), 0, is_whole});
}

void Profile::end() {
  const Open open = open_.back();
  open_.pop_back();
  if (open.is_hidden) return;
  const double seconds = at(Clock::now()) - at(open.begin);
  open.row->count += 1;
  open.row->seconds += seconds - open.inside;
  const auto outer = std::find_if(open_.rbegin(), open_.rend(), [](const Open& one) { return !one.is_hidden; });
  if (outer != open_.rend()) outer->inside += seconds;
  if (is_tracing_) events_.push_back({Str(open.part), {}, 0, at(open.begin), seconds});
}

void Profile::begin_step(int64_t step) {
  ++steps_;
  is_tracing_ = traces_ && step >= kFirstTraced && step <= kLastTraced;
}

Str Profile::text() const {
  const double whole = at(Clock::now());
  std::vector<std::pair<Str, Row>> rows(rows_.begin(), rows_.end());
  Row rest{0, whole};
  for (const auto& [part, row] : rows) rest.seconds -= row.seconds;
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  Str text = fmt::format("{} steps in {:.3f} s\n{:>10} {:>6} {:>9} {:>10}  part\n", steps_, whole, "s", "%", "count",
                         "mean ms");
  for (const auto& [part, row] : rows) {
    text += fmt::format("{:>10.3f} {:>6.1f} {:>9} {:>10.4f}  {}\n", row.seconds, 100 * row.seconds / whole, row.count,
                        1e3 * row.seconds / double(std::max<int64_t>(row.count, 1)), part);
  }
  return text + fmt::format("{:>10.3f} {:>6.1f} {:>9} {:>10}  what lies between\n", std::max(rest.seconds, 0.0),
                            100 * std::max(rest.seconds, 0.0) / whole, "-", "-");
}

Str Profile::trace(const std::vector<TraceEvent>& more, int rank) const {
  std::vector<const TraceEvent*> events;
  for (const auto* list : {&events_, &more}) {
    for (const TraceEvent& one : *list) events.push_back(&one);
  }
  // Whatever holds another event stands in front of it.
  std::ranges::stable_sort(events, [](const TraceEvent* a, const TraceEvent* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->seconds > b->seconds;
  });
  Str text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  text += fmt::format(R"({{"name": "process_name", "ph": "M", "pid": {0}, "args": {{"name": "rank {0}"}}}})", rank);
  for (const TraceEvent* one : events) {
    const Str line = one->location.line > 0
                         ? fmt::format(", \"args\": {{\"line\": {}}}",
                                       doors::json_string(fmt::format("{}:{}", one->location.file, one->location.line)))
                         : "";
    text +=
        fmt::format(",\n{{\"name\": {}, \"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}{}}}",
                    doors::json_string(one->name), rank, one->thread, one->begin * 1e6, one->seconds * 1e6, line);
  }
  return text + "\n]}\n";
}

}  // namespace ltr
