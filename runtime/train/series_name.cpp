#include "runtime/train/series_name.h"

#include <algorithm>

#include <fmt/format.h>

namespace ltr {

Str series_of_class(const Str& series, int64_t i) { return fmt::format("{}[{}]", series, i); }

Str recorded_name(Str series, const Str& suffix) {
  series.insert(std::min(series.find('['), series.size()), suffix);
  std::erase(series, ']');
  std::replace_if(series.begin(), series.end(), [](char c) { return c == '.' || c == '['; }, '/');
  return series;
}

std::optional<int64_t> class_number(const Str& recorded) {
  constexpr size_t kMostDigits = 9;
  const Str last = recorded.substr(recorded.rfind('/') + 1);
  // What a program names does not begin with a digit.
  const bool is_number = !last.empty() && last.size() <= kMostDigits &&
                         std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional<int64_t>(std::stoll(last)) : std::nullopt;
}

}  // namespace ltr
