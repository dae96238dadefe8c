#include "runtime/distributed/host_list.h"

#include <fmt/format.h>

#include "runtime/distributed/whole.h"

namespace ltr::distributed {

namespace {

// No machine room has more; a typing error may ask for any number.
constexpr size_t kMostHosts = 1 << 20;

/// The pieces of `text` between commas that stand in no bracket; nothing if a bracket is left open.
Option<std::vector<Str>> split_list(const Str& text) {
  std::vector<Str> pieces(1);
  bool is_inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      if (is_inside == (c == '[')) return std::nullopt;
      is_inside = !is_inside;
    }
    if (c == ',' && !is_inside)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  if (is_inside) return std::nullopt;
  return pieces;
}

/// `01-03` as 01 02 03, `7` as itself: numbers keep the width of the first.
bool add_numbers(const Str& range, std::vector<Str>& out) {
  const size_t dash = range.find('-');
  const Str first_text = range.substr(0, dash);
  const Option<int64_t> first = whole_number(first_text);
  const Option<int64_t> last = dash == Str::npos ? first : whole_number(range.substr(dash + 1));
  if (!first || !last || *last < *first || size_t(*last - *first) >= kMostHosts) return false;
  for (int64_t number = *first; number <= *last; number++) {
    out.push_back(fmt::format("{:0{}}", number, first_text.size()));
  }
  return true;
}

/// What one piece means: every number of its first bracket, each with all that the rest means.
bool add_hosts(const Str& before, const Str& rest, std::vector<Str>& out) {
  const size_t open = rest.find('[');
  if (open == Str::npos) {
    out.push_back(before + rest);
    return !out.back().empty() && out.size() <= kMostHosts;
  }
  const size_t close = rest.find(']');
  std::vector<Str> numbers;
  Str inside = rest.substr(open + 1, close - open - 1) + ",";
  for (size_t comma = inside.find(','); comma != Str::npos; comma = inside.find(',')) {
    if (!add_numbers(inside.substr(0, comma), numbers)) return false;
    inside.erase(0, comma + 1);
  }
  for (const Str& number : numbers) {
    if (!add_hosts(before + rest.substr(0, open) + number, rest.substr(close + 1), out)) return false;
  }
  return true;
}

}  // namespace

Option<std::vector<Str>> expand_hosts(const Str& list) {
  const Option<std::vector<Str>> pieces = split_list(list);
  if (!pieces) return std::nullopt;
  std::vector<Str> hosts;
  for (const Str& piece : *pieces) {
    if (!add_hosts("", piece, hosts)) return std::nullopt;
  }
  return hosts;
}

}  // namespace ltr::distributed
