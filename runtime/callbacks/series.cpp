#include "runtime/callbacks/series.h"

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/train/feed.h"

namespace ltr {

namespace {

bool ends_with_any(const Str& text, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return text.ends_with(ending); });
}

}  // namespace

void check_series(LogTable& logs, const Str& series, const Str& who, const Location& location) {
  if (logs.has(series)) return;
  Str known;
  for (const Str& name : logs.series()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  throw with_help(error_at(location, err::unknown_setting, fmt::format("{}: monitor = {}", who, series)),
                  fmt::format("logged are: {}", known));
}

bool is_max(const Program& program, const Str& series, const Str& mode, const Location& location) {
  if (mode == "max" || mode == "min") return mode == "max";
  const Str all = series.substr(0, series.find('['));  // Of one class it is what it is of the metric.
  const Str name = all.substr(all.rfind('.') + 1);
  if (ends_with_any(name, {"loss", "error", "perplexity"})) return false;
  for (const LogInfo& info : program.logs) {
    if (name != info.name || info.kind != LogKind::Metric) continue;
    return !ends_with_any(name, {"mae", "mse", "rmse", "wer", "cer"});
  }
  throw with_help(
      error_at(location, err::settings_contradict, fmt::format("is a larger or a smaller {} better?", series)),
      "write mode = max or mode = min");
}

// A learning rate moves with training.
bool is_of(const Str& series, Role role) {
  return series.starts_with(Str(role_name(role)) + ".") || (role == Role::Train && series.starts_with("lr."));
}

}  // namespace ltr
