#include "runtime/train/op_times.h"

#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>

#include "ltr/tensor.h"

namespace ltr {

namespace {

/// An operation under way. The name stays where LibTorch has it until it ends.
struct Started : at::ObserverContext {
  Profile::Clock::time_point begin = Profile::Clock::now();
  bool is_outer = false;
};

struct Listening {
  OpTimes* times = nullptr;
  int depth = 0;
};
thread_local Listening listening;

std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&) {
  auto context = std::make_unique<Started>();
  context->is_outer = listening.depth++ == 0;
  return context;
}

void ended(const at::RecordFunction& function, at::ObserverContext* context) {
  --listening.depth;
  const auto& of = *static_cast<const Started*>(context);
  if (of.is_outer && listening.times != nullptr) listening.times->add(function.name(), current_location(), of.begin);
}

}  // namespace

struct OpTimes::Scope::Callback {
  at::CallbackHandle handle;
  OpTimes* before;
};

OpTimes::Scope::Scope(OpTimes* times) {
  if (times == nullptr) return;
  callback_ = std::make_unique<Callback>();
  callback_->before = std::exchange(listening.times, times);
  listening.depth = 0;
  callback_->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(started, ended)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OpTimes::Scope::~Scope() {
  if (callback_ == nullptr) return;
  at::removeCallback(callback_->handle);
  listening.times = callback_->before;
}

void OpTimes::add(const char* name, const Location& location, Profile::Clock::time_point begin) {
  const double seconds = std::chrono::duration<double>(Profile::Clock::now() - begin).count();
  Row& row = rows_[{location.line > 0 ? fmt::format("{}:{}", location.file, location.line) : Str(), name}];
  row.count += 1;
  row.seconds += seconds;
  if (profile_.is_tracing()) events_.push_back({name, location, 0, profile_.at(begin), seconds});
}

Str OpTimes::text() const {
  if (rows_.empty()) return "";
  constexpr size_t kMostRows = 40;
  std::vector<std::pair<std::pair<Str, Str>, Row>> rows(rows_.begin(), rows_.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  Str text = fmt::format("{:>10} {:>9} {:>10}  {:<28} operation of LibTorch\n", "s", "count", "mean ms", "line");
  double rest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [of, row] = rows[i];
    if (i >= kMostRows)
      rest += row.seconds;
    else
      text += fmt::format("{:>10.4f} {:>9} {:>10.4f}  {:<28} {}\n", row.seconds, row.count,
                          1e3 * row.seconds / double(row.count), of.first, of.second);
  }
  if (rest > 0)
    text += fmt::format("{:>10.4f} {:>9} {:>10}  {:<28} {} more\n", rest, "-", "-", "", rows.size() - kMostRows);
  return text;
}

}  // namespace ltr
