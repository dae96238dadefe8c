#include "runtime/callbacks/series.h"

#include "runtime/api/error.h"
#include "runtime/train/feed.h"

namespace ltr {

void check_series(LogTable& logs, const Str& series, const Str& who, const Location& location, const char* what) {
  if (logs.has(series)) return;
  Str known;
  for (const Str& name : logs.series()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  throw with_help(error_at(location, err::unknown_setting,
                           fmt::format("{} that is logged, of `{} = {}` of {}", series, what, series, who)),
                  fmt::format("logged are: {}", known));
}

bool is_max(const LogTable& logs, const Str& series, const Str& mode, const Location& location) {
  if (mode == "max" || mode == "min") return mode == "max";
  if (const Str better = logs.better(series); !better.empty()) return better == "max";
  throw with_help(
      error_at(location, err::settings_contradict, fmt::format("is a larger or a smaller {} better?", series)),
      "write mode = max or mode = min");
}

// A learning rate moves with training.
bool is_of(const Str& series, Role role) {
  return series.starts_with(Str(role_name(role)) + ".") || (role == Role::Train && series.starts_with("lr."));
}

}  // namespace ltr
